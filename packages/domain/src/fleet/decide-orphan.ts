import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Instance } from '../worker/ec2-instance.ts'
import type { FleetScaling } from './fleet-scaling.ts'
import { allowedLosses, mayLose, recentLosses } from './machine-loss-limit.ts'
import type { SettingValues } from './settings.ts'

/** Longer than the boot of bare metal takes to be recorded. */
export const ORPHAN_AGE_MS = 10 * 60_000
/** A machine with this tag is never terminated as an orphan. */
const KEEP_TAG = 'lcm:keep'

/** Findings of earlier cycles. */
export interface OrphanMemory {
  /** When each was first seen without a record. */
  readonly markedAt: ReadonlyMap<string, number>
}

export interface Orphan {
  readonly instance: Instance
  readonly because: Reason
}

export interface OrphanVerdict {
  readonly action: 'mark' | 'report' | 'terminate' | 'hold'
  readonly because: Reason
}

/** Marked once, confirmed in the next cycle, then reported; terminated only if the settings ask for it and a permit is granted. */
export function decideOrphan(
  { instance, because: cause }: Orphan,
  memory: OrphanMemory,
  settings: Pick<SettingValues, 'orphan_action'>,
  nowMs: number,
): OrphanVerdict {
  if (!memory.markedAt.has(instance.instance_id)) return { action: 'mark', because: reason('orphan_found', { cause }) }
  if (settings.orphan_action === 'report') return { action: 'report', because: reason('orphan_reported', { cause }) }
  if (instance.tags[KEEP_TAG] !== undefined)
    return { action: 'report', because: reason('orphan_kept', { cause, tag: KEEP_TAG }) }
  if (nowMs - toMs(instance.launched_at) < ORPHAN_AGE_MS)
    return { action: 'hold', because: reason('orphan_too_young', { cause, seconds: ORPHAN_AGE_MS / 1000 }) }
  return { action: 'terminate', because: cause }
}

export interface OrphanPermit {
  readonly granted: boolean
  readonly because: Reason
  /** Orphans terminated within the hour, this one included. */
  readonly terminations: FleetScaling['orphan_terminations']
}

/** Whether one more may be terminated. A repeated request for the same machine counts once: the first call may have been lost. */
export function permitOrphan(
  instanceId: string,
  scaling: Pick<FleetScaling, 'orphan_terminations' | 'held_since'>,
  fleetSize: number,
  now: Instant,
): OrphanPermit {
  const nowMs = toMs(now)
  const times = Object.entries(scaling.orphan_terminations).map(([id, at]) => [id, toMs(at)] as const)
  const recent = times.filter(([, atMs]) => recentLosses([atMs], nowMs).length > 0)
  const terminations = Object.fromEntries(recent.map(([id, atMs]) => [id, toInstant(atMs)]))
  const refused = (because: Reason) => ({ granted: false, because, terminations })
  if (scaling.held_since !== null) return refused(reason('fleet_held'))
  const granted = { granted: true, because: reason('orphan_permit_granted') }
  if (terminations[instanceId] !== undefined) return { ...granted, terminations }
  const others = recent.map(([, atMs]) => atMs)
  if (!mayLose(others, fleetSize, nowMs))
    return refused(reason('orphan_limit_reached', { limit: allowedLosses(fleetSize), machines: fleetSize }))
  return { ...granted, terminations: { ...terminations, [instanceId]: now } }
}
