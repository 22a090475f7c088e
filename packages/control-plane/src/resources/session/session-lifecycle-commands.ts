import { ProblemError, refusedBy } from '@lcm/contract/problems'
import { mayModify } from '@lcm/contract/route-spec'
import type { BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import { canServeLabs } from '@lcm/domain/session/decide-session'
import { isFinal, type LabletSession, type SessionMove } from '@lcm/domain/session/lablet-session'
import { canSaveFirst, movedBy, moveRefusal } from '@lcm/domain/session/session-move-request'
import { overBecause, retryOf } from '@lcm/domain/session/session-retry-request'
import type { Api } from '../../api-context.ts'
import { admitExtension } from '../calendar/admit-sessions.ts'
import { finishedHead } from '../calendar/finish-batch.ts'
import { refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { enterExtension } from '../quota/enter-bookings.ts'
import { changeSession, type SessionRequest } from './change-session.ts'
import { endAfter, invalidTimeslot } from './new-session-document.ts'
import { findSession, refuseStranger } from './queries.ts'
import { unplaced } from './report-session.ts'
import { cleanUpSession } from './session-cleanup.ts'

const MINUTE_MS = 60_000

/** Other actors are refused before anything is revealed, such as the version. */
async function changeOwnSession(
  api: Api,
  request: SessionRequest,
  change: Parameters<typeof changeSession>[3],
): Promise<LabletSession> {
  refuseStranger(await findSession(api, request.params.id), request.actor)
  return changeSession(api, request.params.id, request, change)
}

/** An unplaced session ends at once. Otherwise only the desired status changes; its lab is removed first. */
export async function cancelSession(api: Api, request: SessionRequest): Promise<LabletSession> {
  const { actor } = request
  const canceled = await changeOwnSession(api, request, (session, now) => {
    if (isFinal(session.status) || session.desired_status === 'TERMINATED') return null
    const wanted = { ...session, desired_status: 'TERMINATED' as const, desired_by: actor.name, desired_reason: '' }
    const entries = [auditEntry(actor, 'cancel', now, { before: auditFields(session), after: auditFields(wanted) })]
    if (session.status !== 'PENDING') return { session: wanted, entries }
    return {
      session: { ...wanted, status: 'TERMINATED', waiting_reason: null },
      entries,
      because: reason('session_canceled', { by: actor.name, reason: '' }),
    }
  })
  await cleanUpSession(api, canceled.id)
  return canceled
}

const auditFields = ({ desired_status, timeslot }: LabletSession) => ({ desired_status, timeslot })

export async function extendSession(
  api: Api,
  request: SessionRequest<BodyOf<'extendSession'>>,
): Promise<LabletSession> {
  const { actor, body, once } = request
  // A process that crashed may have left it accepted.
  if (once !== null) await finishedHead(api)
  const before = await findSession(api, request.params.id)
  refuseStranger(before, actor)
  if (once !== null && before.applied_keys.includes(once.key)) return before
  const longest = (await api.definitions.get(before.definition.id))?.max_duration_minutes ?? 0
  const extended = (session: LabletSession) => {
    refuseStale(session, request.ifMatch)
    return extendedSlot(session, body.minutes, longest, toInstant(api.clock.now()))
  }
  extended(before)
  const release = await enterExtension(api, actor, before, body.minutes)
  const by = { id: actor.id, name: actor.name, role: actor.role }
  try {
    await admitExtension(api, { id: before.id, actor: by, key: once?.key ?? null }, extended)
  } catch (error) {
    if (error instanceof ProblemError) await release()
    throw error
  }
  const session = await findSession(api, before.id)
  refuseOver(session, toInstant(api.clock.now()))
  return session
}

function extendedSlot(
  session: LabletSession,
  minutes: number,
  longest: number,
  now: Instant,
): LabletSession['timeslot'] {
  refuseOver(session, now)
  const { start, end } = session.timeslot
  const timeslot = { start, end: endAfter(end, minutes) }
  const lasts = (toMs(timeslot.end) - toMs(start)) / MINUTE_MS
  if (lasts <= longest) return timeslot
  const { name } = session.definition
  throw invalidTimeslot(
    `it would last ${Math.ceil(lasts)} min, and ${name} may last ${longest} min: ${leftOf(longest, session)}`,
  )
}

function leftOf(longest: number, { timeslot }: LabletSession): string {
  const left = Math.floor(longest - (toMs(timeslot.end) - toMs(timeslot.start)) / MINUTE_MS)
  return left > 0 ? `it can be extended by ${left} min` : 'it lasts as long as it may already'
}

export function refuseOver(session: LabletSession, now: Instant): void {
  const because = overBecause(session, now)
  if (because !== null) throw refusedBy('session_over', because)
}

/** Returns the session to PENDING. It has no lab yet, so its capacity is released at once. */
export async function requeueSession(
  api: Api,
  request: SessionRequest<BodyOf<'requeueSession'>>,
): Promise<LabletSession> {
  const { actor, body } = request
  const requeued = await changeOwnSession(api, request, (session, now) => {
    refuseUnwanted(session, 'SCHEDULED')
    const because = reason('requeued_by', { by: actor.name })
    return {
      session: { ...unplaced(session), status: 'PENDING', waiting_reason: because },
      entries: [auditEntry(actor, 'requeue', now, { reason: body.reason })],
      because,
    }
  })
  await cleanUpSession(api, requeued.id)
  return requeued
}

/**
 * Returns the session to PENDING, first in line for another worker if it had a lab. Its old lab is deleted, and its capacity stays
 * reserved until then. Where the work in the lab can be saved, this only requests the save, and the lablet-controller moves it after.
 */
export async function moveSession(api: Api, request: SessionRequest<BodyOf<'moveSession'>>): Promise<LabletSession> {
  const { actor, body, params } = request
  const before = await findSession(api, params.id)
  refuseStranger(before, actor)
  const worker = before.worker_id === null ? null : await api.workers.get(before.worker_id)
  const isSaved = canServeLabs(worker) && (await api.definitions.get(before.definition.id))?.saves_enabled === true
  const moved = await changeOwnSession(api, request, (session, now) => {
    const refusal = moveRefusal(session, now, mayModify(actor, ''))
    if (refusal !== null) throw refusedBy('session_wrong_state', refusal)
    const name = worker?.id === session.worker_id ? worker?.name : session.worker_id
    const request = { requested_at: now, requested_by: actor.name }
    const move: SessionMove = { ...request, worker: name ?? '', reason: body.reason ?? '' }
    const entries = [auditEntry(actor, 'move', now, { reason: body.reason })]
    if (isSaved && canSaveFirst(session))
      return { session: { ...session, move, save: { ...session.save, ...request } }, entries }
    const because = movedBy(session, move, null)
    return { session: { ...unplaced(session), status: 'PENDING', waiting_reason: because }, entries, because }
  })
  await cleanUpSession(api, moved.id)
  return moved
}

function refuseUnwanted(session: LabletSession, needed: LabletSession['status']): void {
  if (session.status !== needed)
    throw new ProblemError('session_wrong_state', `it is ${session.status}, and would have to be ${needed}`)
  if (session.desired_status === 'TERMINATED') throw new ProblemError('session_wrong_state', 'it was canceled')
}

/** Without a change, the new version alone wakes the controllers. */
export function retrySession(api: Api, request: SessionRequest<BodyOf<'retrySession'>>): Promise<LabletSession> {
  const { actor, body } = request
  return changeOwnSession(api, request, (session, now) => {
    const retry = retryOf(session, now)
    if (retry.kind === 'refused') throw refusedBy('session_wrong_state', retry.because)
    if (retry.kind === 'under_way') return null
    const entries = [auditEntry(actor, 'retry', now, { reason: body.reason })]
    return { session: { ...session, ...retry.changes }, entries }
  })
}
