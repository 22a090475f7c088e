import type { Instant } from '../instant.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { LabletSession } from './lablet-session.ts'
import { movedAt, sessionHealth } from './session-health.ts'
import { overBecause } from './session-retry-request.ts'

/** Why the session can't be moved to another worker on request; null if it can. Owners may move only a session that fails. */
export function moveRefusal(session: LabletSession, now: Instant, isOperator: boolean): Reason | null {
  const { status } = session
  const over = overBecause(session, now)
  if (over !== null) return over
  const isMoving = movedAt(session) !== null
  if (status === 'PENDING') return reason(isMoving ? 'move_in_progress' : 'session_has_no_worker')
  if (isOperator) return null
  // Another move would only start its lab from the beginning again.
  if (isMoving) return reason('move_in_progress')
  return sessionHealth(session, toMs(now)).status === 'OK' ? reason('session_works') : null
}

/** What a move does to the work in the lab, for the person who confirms it. `savedAt` is the text of the time of its last save. */
export function moveWarning(session: LabletSession, savedAt: string | null): string {
  const { status, restore_from } = session
  if (status !== 'READY' && status !== 'RUNNING')
    return 'The session is placed on another worker. Its lab is not ready yet, so no work is lost.'
  if (savedAt !== null)
    return `The lab starts again on another worker, from its last save of ${savedAt}. Changes since then are lost.`
  const origin = restore_from === null ? 'from the beginning' : 'from the save that the session was booked with'
  return `The lab starts again on another worker, ${origin}. All changes in the lab are lost.`
}

/** The worker that a person moved a waiting session away from; null if no person did. */
export function movedAwayFrom({ status, state_history }: LabletSession): string | null {
  const last = state_history.at(-1)
  if (status !== 'PENDING' || last?.because.code !== 'session_moved_by') return null
  const { worker_id } = last.because.params
  return typeof worker_id === 'string' ? worker_id : null
}
