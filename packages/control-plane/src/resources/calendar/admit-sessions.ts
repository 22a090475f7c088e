import { ProblemError } from '@lcm/contract/problems'
import {
  type Admission,
  admit,
  extensibleUntil,
  lostPromises,
  nearestStarts,
  type Seats,
} from '@lcm/domain/calendar/admission'
import type { CapacityFacts } from '@lcm/domain/calendar/capacity'
import { type CapacityProfile, copiedProfile } from '@lcm/domain/calendar/capacity-profile'
import type { Use } from '@lcm/domain/calendar/promised-machine'
import { budgetBooked, oneMore, overspending } from '@lcm/domain/calendar/promised-spending'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { momentText } from '@lcm/domain/text/format-amounts'
import type { Api } from '../../api-context.ts'
import { extendReservation } from '../session/session-reservation.ts'
import { currentSettings } from '../settings/queries.ts'
import type { CalendarBatch, CalendarHead } from './calendar-head.ts'
import { promisedSpan } from './calendar-uses.ts'
import { afterOthers, type CapacityCalendar, inSlices } from './capacity-calendar.ts'
import { accept, finish, finishedHead } from './finish-batch.ts'
import { capacityFacts, followedProfile, placeableSession, rereadProfile } from './follow-calendar.ts'
import { reviewOf, sessionsToReview, sessionsWithoutPromise } from './review-earlier-sessions.ts'

type Extension = Omit<Extract<CalendarBatch, { kind: 'extend' }>, 'kind' | 'end' | 'span'>

/** Each lost race means that another replica admitted something. */
const RACES_MAX = 100

/** Sessions that are booked together: of one definition and owner, at one or more times. */
export interface Booking {
  /** Everything but id, timeslot and admission is that of every session. */
  readonly session: LabletSession
  readonly definition: LabletDefinition
  readonly actor: Extract<CalendarBatch, { kind: 'book' }>['actor']
  readonly groups: readonly { readonly timeslot: LabletSession['timeslot']; readonly ids: readonly string[] }[]
  /** Whether something other than capacity rules a start out. */
  isAllowed(start: Instant): boolean
}

/** A decision about the calendar as of its head. Null when another replica changed it meanwhile: then it is made again. */
export async function decided<T>(
  api: Api,
  decide: (head: CalendarHead, profile: CapacityProfile) => Promise<T | null>,
): Promise<T> {
  return afterOthers(api, async () => {
    for (let race = 0; race < RACES_MAX; race += 1) {
      const head = await finishedHead(api)
      const profile = await followedProfile(api, head)
      if (await reviewEarlier(api, head, profile)) continue
      const decision = await decide(head, profile)
      if (decision !== null) return decision
    }
    throw new ProblemError('store_unavailable', 'the calendar is written too often; try again')
  })
}

/** Sessions of an earlier release come before new ones. True when there were any. */
async function reviewEarlier(api: Api, head: CalendarHead, profile: CapacityProfile): Promise<boolean> {
  const { calendar } = api
  if (calendar.isReviewed) return false
  const sessions = await sessionsToReview(api)
  calendar.isReviewed = sessions.length === 0
  if (sessions.length === 0) return false
  const batch = await reviewOf(api, head, profile, sessions)
  // It entered promises that are not accepted yet.
  calendar.known = null
  if ((await acceptAndFinish(api, head, batch)) === null) return true
  const admitted = batch.sessions.filter(({ machine }) => machine !== null).length
  const { reviewed } = calendar
  calendar.reviewed = {
    admitted: (reviewed?.admitted ?? 0) + admitted,
    best_effort: (reviewed?.best_effort ?? 0) + batch.sessions.length - admitted,
  }
  return true
}

/**
 * Promises that no capacity is left for, with the reasons by session id, and once how many sessions of an earlier release were
 * reviewed.
 */
export async function settledProfile(
  api: Api,
): Promise<{ lost: ReadonlyMap<string, Reason>; reviewed: CapacityCalendar['reviewed'] }> {
  return decided(api, async (_, profile) => {
    const lost = await inSlices(api.clock, lostPromises(profile))
    const { reviewed } = api.calendar
    api.calendar.reviewed = null
    return { lost, reviewed }
  })
}

/**
 * Promises capacity to sessions of an earlier release as soon as there is some. Returns the reasons of those that still have none,
 * by session id.
 */
export async function promiseLater(api: Api): Promise<ReadonlyMap<string, Reason>> {
  if ((await sessionsWithoutPromise(api)).length === 0) return new Map()
  return decided(api, async (head, profile) => {
    const batch = await reviewOf(api, head, profile, await sessionsWithoutPromise(api))
    const sessions = batch.sessions.filter(({ machine }) => machine !== null)
    if (sessions.length > 0) {
      api.calendar.known = null
      if ((await acceptAndFinish(api, head, { ...batch, sessions })) === null) return null
    }
    return new Map(batch.sessions.flatMap(({ id, at_risk }) => (at_risk === null ? [] : [[id, causeOf(at_risk)]])))
  })
}

const causeOf = ({ params: { cause } }: Reason): Reason => cause as Reason

/** A copy of all promises, what is booked without one, and what they rely on. */
export const promisedNow = (
  api: Api,
): Promise<{ readonly profile: CapacityProfile; readonly bestEffort: readonly Use[]; readonly facts: CapacityFacts }> =>
  decided(api, async (_, profile) => {
    const { known } = api.calendar
    const facts = await capacityFacts(api, { workers: known?.workers ?? new Map(), spending: known?.spending ?? null })
    return { profile: copiedProfile(profile), bestEffort: [...(known?.bestEffort.values() ?? [])], facts }
  })

/** Accepts a batch and writes its sessions. Null when another replica was first. */
export async function acceptAndFinish(api: Api, head: CalendarHead, batch: CalendarBatch): Promise<true | null> {
  const accepted = await accept(api, head, batch)
  if (accepted === null) return null
  await finish(api, accepted)
  return true
}

/** Promises capacity to all sessions and inserts them, or refuses them all. */
export async function admitSessions(api: Api, booking: Booking): Promise<void> {
  const refused = await decided(api, async (head, profile) => {
    const wanted = await wantedBy(api, booking)
    const admission = await admitted(api, { head, profile, wanted })
    if (admission.kind === 'refused') return shortage(api, profile, { booking, wanted, admission })
    const { session, actor } = booking
    const groups = booking.groups.map(({ timeslot, ids }, index) => ({
      timeslot,
      span: instants(wanted[index]),
      ids: [...ids],
      machines: [...(admission.machines[index] ?? [])],
    }))
    return acceptAndFinish(api, head, { kind: 'book', session, actor, groups })
  })
  if (refused !== true) throw refusal(refused)
}

async function admitted(
  api: Api,
  { head, profile, wanted }: { head: CalendarHead; profile: CapacityProfile; wanted: readonly Seats[] },
): Promise<Admission> {
  const admission = admit(profile, wanted)
  const reread = admission.kind === 'refused' ? await rereadProfile(api, head) : null
  return reread === null ? admission : admit(reread, wanted)
}

async function wantedBy(api: Api, { session, definition, groups }: Booking): Promise<Seats[]> {
  const settings = await currentSettings(api)
  const placeable = await placeableSession(api, session)
  if (placeable === null)
    throw new ProblemError('definition_not_active', `${definition.name} was deleted at the same time`)
  const { demand, timings } = placeable
  return groups.map(({ timeslot, ids }) => {
    const { from, until } = promisedSpan({ timeslot }, definition, { settings, timings, nowMs: api.clock.now() })
    return { demand, span: { fromMs: toMs(from), untilMs: toMs(until) }, count: ids.length }
  })
}

const instants = (seats: Seats | undefined) => ({
  from: toInstant(seats?.span.fromMs ?? 0),
  until: toInstant(seats?.span.untilMs ?? 0),
})

/** Seats that don't fit at a time, and the nearest times when they would. */
export interface Shortage {
  readonly seats: number
  readonly free_seats: number
  readonly start: Instant
  readonly because: Reason
  readonly alternatives: Instant[]
}

async function shortage(
  api: Api,
  profile: CapacityProfile,
  {
    booking,
    wanted,
    admission,
  }: {
    booking: Booking
    wanted: readonly Seats[]
    admission: { readonly index: number; readonly free: number; readonly because: Reason }
  },
): Promise<Shortage> {
  const { index, free, because } = admission
  const start = booking.groups[index]?.timeslot.start ?? booking.session.timeslot.start
  const seats = wanted[index]
  const search = {
    nowMs: api.clock.now(),
    startMs: toMs(start),
    isAllowed: (ms: number) => booking.isAllowed(toInstant(ms)),
  }
  const alternatives = seats === undefined ? [] : await inSlices(api.clock, nearestStarts(profile, seats, search))
  return { seats: seats?.count ?? 0, free_seats: free, start, because, alternatives }
}

function refusal(refused: Shortage): ProblemError {
  const because = seatsShort(refused)
  const { free_seats, alternatives } = refused
  const advice = { reason: because, shortage: { free_seats, alternatives } }
  const times = alternatives.map(at => `${momentText(at)} works`)
  return new ProblemError('no_capacity_at_that_time', [because.message, ...times].join('; '), undefined, advice)
}

const seatsShort = ({ seats, free_seats, start, because: cause }: Shortage): Reason =>
  reason('seats_short', { short: seats - free_seats, seats, start, cause })

/** Whether the booking would be admitted now; null if it would. */
export async function admissionShortage(
  api: Api,
  booking: Booking,
): Promise<{ readonly free_seats: number; readonly alternatives: Instant[]; readonly because: Reason } | null> {
  const { refused } = await decided(api, async (head, profile) => {
    const wanted = await wantedBy(api, booking)
    const admission = await admitted(api, { head, profile, wanted })
    return {
      refused: admission.kind === 'admitted' ? null : await shortage(api, profile, { booking, wanted, admission }),
    }
  })
  return refused === null ? null : { ...refused, because: seatsShort(refused) }
}

/**
 * Moves the end of a session, unless others were promised the capacity. `extended` is called with the newest session, and refuses
 * what can't be extended. A session without a promise and worker takes nothing from others.
 */
export async function admitExtension(
  api: Api,
  extension: Extension,
  extended: (session: LabletSession) => LabletSession['timeslot'],
): Promise<void> {
  const { id } = extension
  await decided(api, async (head, profile) => {
    const session = await api.sessions.get(id)
    if (session === null) throw new ProblemError('not_found', `there is no session ${id}`)
    if (extension.key !== null && session.applied_keys.includes(extension.key)) return true
    const { end } = extended(session)
    const use = profile.uses.get(id)
    const byMs = toMs(end) - toMs(session.timeslot.end)
    if (use !== undefined) {
      const untilMs = extensibleUntil(profile, id, use.span.untilMs + byMs)
      if (untilMs < use.span.untilMs + byMs) throw tooLong(profile, use, untilMs, byMs)
    }
    // Its worker must have the capacity too; what it reserves for a refused extension is given back with the session.
    await extendReservation(api, session, end)
    const { span } = session.admission
    const longer = span === null ? null : { ...span, until: toInstant(toMs(span.until) + byMs) }
    return acceptAndFinish(api, head, { kind: 'extend', ...extension, end, span: longer })
  })
}

function tooLong(profile: CapacityProfile, { id, demand, span }: Use, untilMs: number, byMs: number): ProblemError {
  const { workersMax, region } = profile.capacity
  const minutes = Math.floor((untilMs - span.untilMs) / 60_000)
  const place = profile.places.get(id)
  const later = { fromMs: span.untilMs, untilMs: span.untilMs + byMs }
  const over = place === undefined ? null : overspending(profile, [oneMore(place, { demand, span: later })])
  const cause = over === null ? reason('capacity_booked', { limit: workersMax, region }) : budgetBooked(over)
  const because = reason('extension_short', { minutes, cause })
  return new ProblemError('no_capacity_at_that_time', because.message, undefined, { reason: because })
}
