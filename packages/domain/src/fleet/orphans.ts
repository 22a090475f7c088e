import { toMs } from '../instant.ts'
import type { Instance } from '../worker/instance.ts'
import { allowedLosses, type Losses, mayLose } from './brake.ts'
import type { SettingValues } from './settings.ts'

/** Longer than the boot of bare metal takes to be recorded. */
export const ORPHAN_AGE_MS = 10 * 60_000
/** Whoever sets this tag wants the machine left alone. */
const KEEP_TAG = 'lcm:keep'

/** What the last cycles remember. */
export interface OrphanMemory {
  /** When each was first seen without a record. */
  readonly markedAt: ReadonlyMap<string, number>
  readonly terminations: Losses
}

export interface Orphan {
  readonly instance: Instance
  readonly because: string
}

export interface OrphanVerdict {
  readonly action: 'mark' | 'report' | 'terminate' | 'hold'
  readonly because: string
}

/** Marked once, confirmed in the next cycle, reported; destroyed only where that is asked for, and never many at once. */
export function decideOrphan(
  { instance, because }: Orphan,
  memory: OrphanMemory,
  { settings, fleetSize }: { settings: Pick<SettingValues, 'orphan_action'>; fleetSize: number },
  nowMs: number,
): OrphanVerdict {
  if (!memory.markedAt.has(instance.instance_id)) return { action: 'mark', because: `${because}; looked at again` }
  if (settings.orphan_action === 'report')
    return { action: 'report', because: `${because}; set orphan_action to terminate, or terminate it by hand` }
  if (instance.tags[KEEP_TAG] !== undefined) return { action: 'report', because: `${because}; ${KEEP_TAG} keeps it` }
  if (nowMs - toMs(instance.launched_at) < ORPHAN_AGE_MS)
    return { action: 'hold', because: `${because}; it is younger than ${ORPHAN_AGE_MS / 60_000} min` }
  if (!mayLose(memory.terminations, fleetSize, nowMs)) {
    const limit = `no more than ${allowedLosses(fleetSize)} of ${fleetSize} machines are given up within an hour`
    return { action: 'hold', because: `${because}; ${limit}` }
  }
  return { action: 'terminate', because }
}
