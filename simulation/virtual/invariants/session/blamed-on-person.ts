import { toMs } from '@lcm/domain/instant'
import { STOPPED_CODES } from '@lcm/domain/session/lab-stop-cause'
import { LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import type { Disturbances } from '../../world/disturbances.ts'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'

export interface BlameParts {
  readonly following: Pick<EventFollower, 'workers' | 'labs'>
  readonly clock: Pick<Clock, 'now'>
  readonly disturbances: Disturbances
  readonly ownerChanges: OwnerChanges
}

/** During faults labs are seen stopped before the restart of their machine is, which takes a new leader and a few calls. */
const NOTICED_MS_MAX = 5 * MINUTE_MS

/** A lab that stopped with its machine is not reported as stopped by its owner. A controller that reports so leaves the lab stopped. */
export function blamedOnPerson(parts: BlameParts): (session: LabletSession) => string[] {
  const { following, ownerChanges, clock, disturbances } = parts
  const { workers, labs } = following

  /** Zero while no fault disturbs. */
  function excusedMs(): number {
    const faultMs = disturbances.endedMs('fault')
    return faultMs === null || clock.now() - faultMs > NOTICED_MS_MAX ? 0 : NOTICED_MS_MAX
  }

  return ({ id, worker_id, lab_record_id, conditions }) => {
    if (ownerChanges.stops.has(labs.get(lab_record_id ?? '')?.lab_id ?? '')) return []
    const stopped = conditions.find(({ type, status }) => type === LAB_STOPPED && status)
    const history = workers.get(worker_id ?? '')?.state_history ?? []
    const ranAt = history.findIndex(({ to }) => to === 'RUNNING')
    const restart = history.slice(ranAt + 1).findLast(({ to }) => to === 'STARTING')
    if (stopped === undefined || restart === undefined || OWN_REASONS.includes(stopped.reason.code)) return []
    const isExcused = clock.now() - toMs(stopped.since) < excusedMs()
    const isSeenBefore = toMs(stopped.since) <= toMs(restart.at) + CLOCK_MS_MAX
    if (isExcused || isSeenBefore) return []
    return [`the lab of ${id} is reported as stopped by a user, but its machine was restarted`]
  }
}

const OWN_REASONS: readonly string[] = Object.values(STOPPED_CODES)
