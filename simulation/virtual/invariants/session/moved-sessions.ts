import { toMs } from '@lcm/domain/instant'
import { freeCapacityOf } from '@lcm/domain/session/free-capacity'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import { movedAt } from '@lcm/domain/session/session-health'
import type { Clock } from '@lcm/runtime/clock'
import { MINUTE_MS } from '../../world/durations.ts'
import type { EventFollower } from '../../world/event-follower.ts'
import { heldTimes } from '../held-times.ts'
import type { LabTruth } from './lab-truth.ts'

/** A lost worker is given up after ten minutes; the rest is for a new leader, a few polls and a lab that boots. */
const RUNNING_AGAIN_MS_MAX = 25 * MINUTE_MS

export interface MovedSessionParts {
  readonly following: Pick<EventFollower, 'sessions' | 'workers'>
  readonly clock: Pick<Clock, 'now'>
  truthOf(session: LabletSession): LabTruth
}

/** A session that had a lab and whose machine is gone runs elsewhere in time, for as long as another worker has capacity for it. */
export function movedSessions({ following, clock, truthOf }: MovedSessionParts): () => string[] {
  const heldMs = heldTimes(clock)

  function isLost(session: LabletSession): boolean {
    const { status, desired_status, timeslot } = session
    const [nowMs, startMs, endMs] = [clock.now(), toMs(timeslot.start), toMs(timeslot.end)]
    if (desired_status === 'TERMINATED' || nowMs < startMs || nowMs >= endMs) return false
    if (status === 'PENDING' || status === 'SCHEDULED' || status === 'INSTANTIATING') return movedAt(session) !== null
    return isUp(status) && truthOf(session).runningSinceMs === null
  }

  const fits = ({ id, needs }: LabletSession): boolean =>
    [...following.workers.values()].some(worker => {
      const { closed, free } = freeCapacityOf(worker)
      if (closed !== null || id in worker.reservations) return closed === null
      const has = free.cpu_cores >= needs.cpu_cores && free.memory_gb >= needs.memory_gb
      return has && free.storage_gb >= needs.storage_gb && free.nodes >= needs.node_count
    })

  return () =>
    [...following.sessions.values()]
      .filter(session => heldMs(session.id, isLost(session) && fits(session)) > RUNNING_AGAIN_MS_MAX)
      .map(({ id }) => `${id} has lost its machine, and does not run elsewhere`)
}
