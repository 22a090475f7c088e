import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'
import type { EventFollower } from '../../world/event-follower.ts'

/** Longer than a new leader needs to reconcile everything, with faults. */
const BEGUN_MS_MAX = 20 * 60_000

/** A session that is due on a running worker is started in time. */
export function startDeadline(
  { sessions, workers }: Pick<EventFollower, 'sessions' | 'workers'>,
  clock: Pick<Clock, 'now'>,
): () => readonly string[] {
  const since = new Map<string, number>()

  function isLeft(session: LabletSession, worker: Worker | undefined): boolean {
    const isDue = session.status === 'SCHEDULED' && session.desired_status === 'RUNNING'
    const isServed = worker?.status === 'RUNNING' && worker.service_status === 'AVAILABLE'
    const isOn = clock.now() >= toMs(session.timeslot.start) && clock.now() < toMs(session.timeslot.end)
    return isDue && isServed && isOn
  }

  return () =>
    [...sessions.values()].flatMap(session => {
      const worker = workers.get(session.worker_id ?? '')
      if (!isLeft(session, worker)) {
        since.delete(session.id)
        return []
      }
      const sinceMs = since.get(session.id) ?? clock.now()
      since.set(session.id, sinceMs)
      return clock.now() - sinceMs > BEGUN_MS_MAX ? [`${session.id} is due on ${worker?.name}, and is not started`] : []
    })
}
