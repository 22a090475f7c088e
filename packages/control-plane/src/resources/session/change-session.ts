import { ProblemError } from '@lcm/contract/problems'
import { type Instant, toMs } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import {
  canMoveSession,
  isFinal,
  isOver,
  type LabletSession,
  SESSION_HISTORY_MAX,
  sessionMovesFrom,
} from '@lcm/domain/session/lablet-session'
import { sessionHealth } from '@lcm/domain/session/session-health'
import { APPLIED_KEYS_MAX } from '@lcm/domain/worker/worker'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, type DocumentChange, refuseStale } from '../change-document.ts'
import { healthEntries, transitionEntry } from '../journal/entries.ts'

export type SessionRequest<B = unknown> = Request<{ id: string }, unknown, B>

export interface SessionChange {
  readonly session: LabletSession
  readonly entries?: readonly NewEntry[]
  /** Reason of a status transition. */
  readonly because?: Reason
}

export interface Writer {
  readonly actor: { readonly name: string }
  readonly ifMatch: number | null
  readonly once: SessionRequest['once']
}

/** Every change of a session goes through here: illegal transitions are refused, and history and journal follow. */
export function changeSession(
  api: Api,
  id: string,
  writer: Writer,
  change: (session: LabletSession, now: Instant) => SessionChange | null,
): Promise<LabletSession> {
  return changeDocument({ collection: api.sessions, id, noun: 'session' }, api.clock, null, (current, now) => {
    // First, because an applied request has made its own If-Match stale.
    if (writer.once !== null && current.applied_keys.includes(writer.once.key)) return null
    refuseStale(current, writer.ifMatch)
    const changed = change(current, now)
    return changed === null ? null : completed(current, changed, writer, now)
  })
}

function completed(
  before: LabletSession,
  { session, entries = [], because = reason('not_given') }: SessionChange,
  { actor, once }: Writer,
  now: Instant,
): DocumentChange<LabletSession> {
  const applied_keys =
    once === null ? session.applied_keys : [...session.applied_keys, once.key].slice(-APPLIED_KEYS_MAX)
  const kept = { ...session, applied_keys }
  if (session.status === before.status) return withSessionHealth(before, { document: kept, entries }, now)
  const move = { from: before.status, to: session.status, at: now, because }
  refuseMove(move)
  const document = {
    ...kept,
    entered_status_at: now,
    state_history: [...before.state_history, move].slice(-SESSION_HISTORY_MAX),
  }
  return withSessionHealth(before, { document, entries: [...entries, transitionEntry(move, actor.name)] }, now)
}

function withSessionHealth(
  before: LabletSession,
  { document: session, entries }: { document: LabletSession; entries: readonly NewEntry[] },
  now: Instant,
): DocumentChange<LabletSession> {
  const health = sessionHealth(session, toMs(now))
  // A session that ends does not recover.
  const change = { before: before.health, after: health, status: session.status, isOver: isOver(session) }
  const noted = healthEntries(change, now)
  return { document: { ...session, health }, entries: [...entries, ...noted] }
}

function refuseMove({ from, to }: { from: LabletSession['status']; to: LabletSession['status'] }): void {
  if (canMoveSession(from, to)) return
  const allowed = sessionMovesFrom(from).join(', ') || 'nowhere'
  throw new ProblemError('illegal_transition', `${from} cannot become ${to}; from there it goes to ${allowed}`)
}

/** Whether the session uses this worker and its lab there. */
export const isPlacedOn = (session: LabletSession | null, workerId: string): boolean =>
  session !== null && session.worker_id === workerId && !isFinal(session.status)
