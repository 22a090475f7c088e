import { admit, type Seats } from '@lcm/domain/calendar/admission'
import { type CapacityProfile, enter } from '@lcm/domain/calendar/capacity-profile'
import { lossOf } from '@lcm/domain/calendar/session-admission'
import { isAtRisk } from '@lcm/domain/fleet/lost-promises'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Reason } from '@lcm/domain/reason'
import { isOver, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { listAll } from '../list-documents.ts'
import { currentSettings } from '../settings/queries.ts'
import { BATCH_CHANGES_MAX, type CalendarBatch, type CalendarHead } from './calendar-head.ts'
import { promisedSpan } from './calendar-uses.ts'
import { placeableSession } from './follow-calendar.ts'

type Review = Extract<CalendarBatch, { kind: 'review' }>

/** Sessions that a release without a calendar booked, the first booked first. */
export async function sessionsToReview(api: Api): Promise<LabletSession[]> {
  return firstBooked(await listAll(api.sessions, { where: { calendar_number: '0' } }))
}

/** Sessions of an earlier release that no capacity was left for, and that still wait for it. */
export async function sessionsWithoutPromise(api: Api): Promise<LabletSession[]> {
  const marked = await listAll(api.sessions, { where: { at_risk: 'yes' } })
  return firstBooked(marked.filter(each => each.admission.kind === 'best_effort' && isAtRisk(each)))
}

const firstBooked = (sessions: LabletSession[]): LabletSession[] =>
  sessions.sort((a, b) => (a.created_at < b.created_at ? -1 : 1)).slice(0, BATCH_CHANGES_MAX)

/** Promises capacity to those that it suffices for. The others become best effort. */
export async function reviewOf(
  api: Api,
  { number }: CalendarHead,
  profile: CapacityProfile,
  sessions: readonly LabletSession[],
): Promise<Review> {
  const reviewed: Review['sessions'] = []
  const now = toInstant(api.clock.now())
  for (const session of sessions) {
    const { timeslot, id } = session
    const wanted = await seatsOf(api, session)
    const found = wanted === null ? NOWHERE : machineFor(profile, { number: number + 1, session, wanted })
    const span =
      wanted === null
        ? { from: timeslot.start, until: timeslot.end }
        : { from: toInstant(wanted.span.fromMs), until: toInstant(wanted.span.untilMs) }
    reviewed.push({ id, span, machine: found.machine, at_risk: lossOf(session.admission, found.cause, now) })
  }
  return { kind: 'review', sessions: reviewed }
}

interface Found {
  readonly machine: string | null
  /** Why there is none. */
  readonly cause: Reason | null
}
/** Its definition was deleted, or it is over. */
const NOWHERE: Found = { machine: null, cause: null }

async function seatsOf(api: Api, session: LabletSession): Promise<Seats | null> {
  const definition = await api.definitions.get(session.definition.id)
  const placeable = await placeableSession(api, session)
  if (definition === null || placeable === null || isOver(session)) return null
  const { demand, timings } = placeable
  const given = { settings: await currentSettings(api), timings, nowMs: api.clock.now() }
  const { from, until } = promisedSpan(session, definition, given)
  return { demand, span: { fromMs: toMs(from), untilMs: toMs(until) }, count: 1 }
}

function machineFor(
  profile: CapacityProfile,
  { number, session: { id, worker_id }, wanted }: { number: number; session: LabletSession; wanted: Seats },
): Found {
  if (worker_id !== null) return { machine: worker_id, cause: null }
  const admission = admit(profile, [wanted])
  if (admission.kind === 'refused') return { machine: null, cause: admission.because }
  const machine = admission.machines[0]?.[0] ?? null
  if (machine !== null) enter(profile, { id, ...wanted, workerId: null, number, machine })
  return { machine, cause: null }
}
