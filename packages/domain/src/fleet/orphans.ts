import { type Instant, toInstant, toMs } from '../instant.ts'
import type { Instance } from '../worker/instance.ts'
import { allowedLosses, mayLose, recentLosses } from './brake.ts'
import type { FleetScaling } from './fleet-scaling.ts'
import type { SettingValues } from './settings.ts'

/** Longer than the boot of bare metal takes to be recorded. */
export const ORPHAN_AGE_MS = 10 * 60_000
/** A machine with this tag is never terminated as an orphan. */
const KEEP_TAG = 'lcm:keep'

/** What the last cycles remember. */
export interface OrphanMemory {
  /** When each was first seen without a record. */
  readonly markedAt: ReadonlyMap<string, number>
}

export interface Orphan {
  readonly instance: Instance
  readonly because: string
}

export interface OrphanVerdict {
  readonly action: 'mark' | 'report' | 'terminate' | 'hold'
  readonly because: string
}

/** Marked once, confirmed in the next cycle, reported; destroyed only where that is asked for, and where a permit is given. */
export function decideOrphan(
  { instance, because }: Orphan,
  memory: OrphanMemory,
  settings: Pick<SettingValues, 'orphan_action'>,
  nowMs: number,
): OrphanVerdict {
  if (!memory.markedAt.has(instance.instance_id)) return { action: 'mark', because: `${because}; looked at again` }
  if (settings.orphan_action === 'report')
    return { action: 'report', because: `${because}; set orphan_action to terminate, or terminate it by hand` }
  if (instance.tags[KEEP_TAG] !== undefined) return { action: 'report', because: `${because}; ${KEEP_TAG} keeps it` }
  if (nowMs - toMs(instance.launched_at) < ORPHAN_AGE_MS)
    return { action: 'hold', because: `${because}; it is younger than ${ORPHAN_AGE_MS / 60_000} min` }
  return { action: 'terminate', because }
}

export interface OrphanPermit {
  readonly granted: boolean
  readonly because: string
  /** Orphans terminated within the hour, this one included. */
  readonly terminations: FleetScaling['orphan_terminations']
}

/** Whether one more may go. A machine whose end is asked for again is still one: the first call may have been lost. */
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
  const refused = (because: string) => ({ granted: false, because, terminations })
  if (scaling.held_since !== null) return refused('nothing is given up until every worker has been looked at')
  const granted = { granted: true, because: 'there is room for one more within this hour' }
  if (terminations[instanceId] !== undefined) return { ...granted, terminations }
  const others = recent.map(([, atMs]) => atMs)
  if (!mayLose(others, fleetSize, nowMs))
    return refused(`no more than ${allowedLosses(fleetSize)} of ${fleetSize} machines are given up within an hour`)
  return { ...granted, terminations: { ...terminations, [instanceId]: now } }
}
