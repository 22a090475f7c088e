import { BEST_EFFORT, type SessionAdmission } from '@lcm/domain/calendar/session-admission'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { isOver, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { NewEntry } from '@lcm/store/store'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { auditEntry, transitionEntry } from '../journal/entries.ts'
import { changeSession } from '../session/change-session.ts'
import { CALENDAR_ID, type CalendarBatch, type CalendarHead } from './calendar-head.ts'
import { pauses } from './capacity-calendar.ts'

type Batch<K extends CalendarBatch['kind']> = Extract<CalendarBatch, { kind: K }>

/** The head without a batch: one that another process left is finished first. */
export async function finishedHead(api: Api): Promise<CalendarHead> {
  for (;;) {
    const head = await api.calendars.get(CALENDAR_ID)
    if (head === null) await begin(api)
    else if (head.batch === null) return head
    else await finish(api, head)
  }
}

/** A concurrent replica may insert it first; either is empty. */
async function begin(api: Api): Promise<void> {
  const now = toInstant(api.clock.now())
  await api.calendars.insert({ id: CALENDAR_ID, version: 1, created_at: now, updated_at: now, number: 0, batch: null })
}

/** Takes the next position in the calendar for a batch. False when another replica was first. */
export async function accept(api: Api, head: CalendarHead, batch: CalendarBatch): Promise<CalendarHead | null> {
  const { version, number } = head
  const accepted = { ...head, version: version + 1, number: number + 1, updated_at: toInstant(api.clock.now()), batch }
  return (await api.calendars.replace(accepted)).ok ? accepted : null
}

/** Writes a batch into its sessions. Several processes may do it at once, and after a crash again. */
export async function finish(api: Api, head: CalendarHead): Promise<void> {
  const { batch, number } = head
  if (batch === null) return
  switch (batch.kind) {
    case 'book':
      await insertAll(api, batch, number)
      break
    case 'extend':
      await extend(api, batch, number)
      break
    case 'review':
      for (const { id, ...promise } of batch.sessions) await review(api, id, { ...promise, number })
      break
    case 'move':
      for (const { id, ...promise } of batch.sessions) await move(api, id, { ...promise, number })
  }
  await api.calendars.replace({
    ...head,
    version: head.version + 1,
    updated_at: toInstant(api.clock.now()),
    batch: null,
  })
}

/** The sessions of a batch. Each is the same for every process that finishes it. */
export const sessionsOfBatch = ({ session, groups }: Batch<'book'>, number: number): LabletSession[] =>
  groups.flatMap(({ timeslot, span, ids, machines }) =>
    ids.map((id, seat) => ({
      ...session,
      id,
      timeslot,
      admission: { kind: 'admitted', at_risk: null, number, span, machine: machines[seat] ?? '' },
    })),
  )

/** Other requests are served between them. */
const AT_ONCE = 4

/**
 * A session that exists was inserted by another process. One whose reservation number is taken is left out. The head has the batch
 * until a later write has made all of them durable.
 */
async function insertAll(api: Api, batch: Batch<'book'>, number: number): Promise<void> {
  const sessions = sessionsOfBatch(batch, number)
  const pause = pauses(api.clock)
  for (let from = 0; from < sessions.length; from += AT_ONCE) {
    await Promise.all(
      sessions
        .slice(from, from + AT_ONCE)
        .map(session => api.sessions.insert(session, entriesOfBooking(session, batch.actor), 'with_next')),
    )
    await pause()
  }
}

export function entriesOfBooking(session: LabletSession, actor: Batch<'book'>['actor']) {
  const { definition, timeslot, reservation_id, restore_from, created_at, state_history } = session
  const after = { definition, timeslot, reservation_id, restore_from, admission: session.admission.kind }
  return [
    auditEntry(actor, 'create', created_at, { after }),
    ...state_history.map(change => transitionEntry(change, actor.name)),
  ]
}

async function extend(api: Api, { id, end, span, actor, key }: Batch<'extend'>, number: number): Promise<void> {
  const writer = { actor, ifMatch: null, once: key === null ? null : { key, resourceId: id } }
  const change = (session: LabletSession, now: string) => {
    if (isOver(session) || (session.admission.number ?? 0) >= number) return null
    const timeslot = { ...session.timeslot, end }
    const fields = ({ desired_status, timeslot }: LabletSession) => ({ desired_status, timeslot })
    const extended = { ...session, timeslot, admission: { ...session.admission, number, span } }
    const entries = [auditEntry(actor, 'extend', now, { before: fields(session), after: fields(extended) })]
    return { session: extended, entries }
  }
  await nullOnConflict(changeSession(api, id, writer, change))
}

type Reviewed = Pick<SessionAdmission, 'span' | 'machine' | 'at_risk'> & { readonly number: number }

/** Not promised before, or in vain: a later review may find capacity. */
const review = (api: Api, id: string, { number, at_risk, ...promise }: Reviewed) =>
  nullOnConflict(
    changeSession(api, id, asSystem(id), (session, now) => {
      const { admission } = session
      if (admission.kind !== 'best_effort' || (admission.number ?? number) >= number) return null
      const reviewed: SessionAdmission =
        promise.machine === null
          ? { ...BEST_EFFORT, number, at_risk }
          : { ...promise, kind: 'admitted', at_risk: null, number }
      return { session: { ...session, admission: reviewed }, entries: [admissionEntry(admission, reviewed, now)] }
    }),
  )

/** The times of a session on a worker are in the worker's ledger. */
const move = (api: Api, id: string, promise: Pick<SessionAdmission, 'span' | 'machine' | 'number'>) =>
  nullOnConflict(
    changeSession(api, id, asSystem(id), session => {
      const { admission, worker_id } = session
      const isMovable = admission.kind === 'admitted' && worker_id === null && !isOver(session)
      if (!isMovable || (admission.number ?? 0) >= (promise.number ?? 0)) return null
      return { session: { ...session, admission: { ...admission, ...promise } } }
    }),
  )

/** What LCM changes of a promise by itself. */
export function admissionEntry(before: SessionAdmission, after: SessionAdmission, now: Instant): NewEntry {
  const fields = ({ kind, at_risk }: SessionAdmission) => ({ admission: kind, at_risk: at_risk?.message ?? null })
  const action = after.at_risk === null ? 'promise' : 'at-risk'
  return auditEntry(SYSTEM_ACTOR, action, now, { before: fields(before), after: fields(after) })
}
