import { toMs } from '@lcm/domain/instant'
import { STOPPED_CODES } from '@lcm/domain/session/lab-stop-cause'
import { LAB_STOPPED, type LabletSession } from '@lcm/domain/session/lablet-session'
import { CLOCK_MS_MAX } from '../../world/controller-process.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import type { OwnerChanges } from '../../world/owner-changes.ts'

export interface BlameParts {
  readonly following: Pick<EventFollower, 'workers' | 'labs'>
  readonly ownerChanges: OwnerChanges
}

/**
 * A lab that stopped with its machine is not reported as stopped by its owner. A controller that reports so leaves the lab stopped.
 */
export function blamedOnPerson(
  { id, worker_id, lab_record_id, conditions }: LabletSession,
  { following: { workers, labs }, ownerChanges }: BlameParts,
): string[] {
  if (ownerChanges.stops.has(labs.get(lab_record_id ?? '')?.lab_id ?? '')) return []
  const stopped = conditions.find(({ type, status }) => type === LAB_STOPPED && status)
  const history = workers.get(worker_id ?? '')?.state_history ?? []
  const ranAt = history.findIndex(({ to }) => to === 'RUNNING')
  const restart = history.slice(ranAt + 1).findLast(({ to }) => to === 'STARTING')
  if (stopped === undefined || restart === undefined || OWN_REASONS.includes(stopped.reason.code)) return []
  const isSeenBefore = toMs(stopped.since) <= toMs(restart.at) + CLOCK_MS_MAX
  return isSeenBefore ? [] : [`the lab of ${id} is reported as stopped by a user, but its machine was restarted`]
}

const OWN_REASONS: readonly string[] = Object.values(STOPPED_CODES)
