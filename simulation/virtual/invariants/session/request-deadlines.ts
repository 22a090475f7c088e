import { toMs } from '@lcm/domain/instant'
import { isEndUnserved, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Clock } from '@lcm/runtime/clock'
import type { Disturbances } from '../../world/disturbances.ts'
import type { EventFollower } from '../../world/event-follower.ts'

export interface RequestDeadlineParts {
  readonly following: Pick<EventFollower, 'sessions' | 'workers'>
  readonly clock: Pick<Clock, 'now'>
  readonly disturbances: Disturbances
}

/** Longer than a new leader needs to reconcile everything, with faults. */
const SERVED_MS_MAX = 20 * 60_000
/** Undisturbed, a request is served by its change event, and after a lost event by the second poll. */
const SERVED_CALMLY_MS_MAX = 5 * 60_000

/** A session that is due on a running worker is started in time, and a canceled one is ended in time. */
export function requestDeadlines({
  following: { sessions, workers },
  clock,
  disturbances,
}: RequestDeadlineParts): () => readonly string[] {
  const unserved = new Map<string, { readonly what: string; readonly sinceMs: number }>()

  /** The request that no controller serves yet. */
  function unservedRequest(session: LabletSession): string | null {
    const { id, status, desired_status, timeslot } = session
    if (isEndUnserved(status, desired_status)) return `${id} is canceled, and is not ended`
    const worker = workers.get(session.worker_id ?? '')
    const isServed = worker?.status === 'RUNNING' && worker.service_status === 'AVAILABLE'
    const isOn = clock.now() >= toMs(timeslot.start) && clock.now() < toMs(timeslot.end)
    return status === 'SCHEDULED' && isServed && isOn ? `${id} is due on ${worker.name}, and is not started` : null
  }

  function isOverdue(sinceMs: number): boolean {
    const calmMs = Math.max(sinceMs, disturbances.endedMs('fault', 'manual') ?? 0)
    return clock.now() - sinceMs > SERVED_MS_MAX || clock.now() - calmMs > SERVED_CALMLY_MS_MAX
  }

  return () =>
    [...sessions.values()].flatMap(session => {
      const what = unservedRequest(session)
      const known = unserved.get(session.id)
      if (what === null) unserved.delete(session.id)
      else if (known?.what !== what) unserved.set(session.id, { what, sinceMs: clock.now() })
      else if (isOverdue(known.sinceMs)) return [what]
      return []
    })
}
