import type { Instant } from '../instant.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { isUp, LAB_STOPPED, type LabletSession, type SessionMove, WORKER_UNAVAILABLE } from './lablet-session.ts'
import { FINAL_SAVE_MS } from './pipeline.ts'
import { movedAt, sessionHealth } from './session-health.ts'
import { overBecause } from './session-retry-request.ts'

/** Why the session can't be moved to another worker on request; null if it can. Owners may move only a session that fails. */
export function moveRefusal(session: LabletSession, now: Instant, isOperator: boolean): Reason | null {
  const { status } = session
  const over = overBecause(session, now)
  if (over !== null) return over
  if (isLeaving(session)) return reason('move_in_progress')
  const isMoving = movedAt(session) !== null
  if (status === 'PENDING') return reason(isMoving ? 'move_in_progress' : 'session_has_no_worker')
  if (isOperator) return null
  // Another move would only start its lab from the beginning again.
  if (isMoving) return reason('move_in_progress')
  return sessionHealth(session, toMs(now)).status === 'OK' ? reason('session_works') : null
}

/** Whether a move of the session waits for a last save. */
export const isLeaving = (session: LabletSession): boolean => session.move !== null && isUp(session.status)

/** Whether the work in the lab can be saved before the session moves: the lab runs, and CML answers, as far as is known. */
export const canSaveFirst = (session: LabletSession): boolean =>
  isUp(session.status) &&
  session.conditions.every(({ type, status }) => !status || (type !== LAB_STOPPED && type !== WORKER_UNAVAILABLE))

/** The reason of a move. `unsaved` says why its latest work is not saved; null if it is, or no save was tried. */
export const movedBy = (
  { worker_id }: LabletSession,
  { requested_by: by, worker, reason: why }: SessionMove,
  unsaved: Reason | null,
): Reason => reason('session_moved_by', { by, worker, worker_id: worker_id ?? '', reason: why, unsaved })

export type MoveStep =
  | { readonly kind: 'save'; readonly leftMs: number }
  | { readonly kind: 'leave'; readonly because: Reason }

/** The step of a requested move: the session leaves once its work is saved, at the latest after a minute. Null if no move is requested. */
export function moveStep(session: LabletSession, isServing: boolean, nowMs: number): MoveStep | null {
  const { move, save } = session
  if (move === null || !isUp(session.status)) return null
  const leave = (unsaved: Reason | null): MoveStep => ({ kind: 'leave', because: movedBy(session, move, unsaved) })
  const isTried = save.requested_at === null || save.requested_at > move.requested_at
  if (isTried) return leave(save.outcome !== null && FAILED_SAVE.has(save.outcome.code) ? save.outcome : null)
  const leftMs = toMs(move.requested_at) + FINAL_SAVE_MS - nowMs
  return isServing && leftMs > 0 ? { kind: 'save', leftMs } : leave(reason('save_out_of_time'))
}
const FAILED_SAVE: ReadonlySet<string> = new Set(['save_failed', 'save_too_large'])

/** What a move does to the work in the lab, for the person who confirms it. `savedAt` is the text of the time of its last save. */
export function moveWarning(session: LabletSession, savedAt: string | null, savesEnabled: boolean): string {
  if (!isUp(session.status))
    return 'The session is placed on another worker. Its lab is not ready yet, so no work is lost.'
  const booked = session.restore_from === null ? 'from the beginning' : 'from the save that the session was booked with'
  const [origin, lost] =
    savedAt === null
      ? [booked, 'all changes in the lab are lost.']
      : [`from its last save of ${savedAt}`, 'changes since then are lost.']
  if (savesEnabled && canSaveFirst(session))
    return [
      'LCM saves the work in the lab, which takes a minute at most.',
      'Then the lab starts again from there on another worker.',
      `If the save fails, it starts ${origin}, and ${lost}`,
    ].join(' ')
  return `The lab starts again on another worker, ${origin}. ${lost[0]?.toUpperCase()}${lost.slice(1)}`
}

/** The worker that a person moved a waiting session away from; null if no person did. */
export function movedAwayFrom({ status, state_history }: LabletSession): string | null {
  const last = state_history.at(-1)
  if (status !== 'PENDING' || last?.because.code !== 'session_moved_by') return null
  const { worker_id } = last.because.params
  return typeof worker_id === 'string' ? worker_id : null
}
