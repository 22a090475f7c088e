import { ProblemError, refusedBy } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import {
  type Booking,
  bookingOf,
  isHolding,
  reconciled,
  refusalOf,
  tooManyAtOnce,
  tooManyCoreHours,
  withBooking,
  withoutBooking,
} from '@lcm/domain/quota/booking-ledger'
import { isCounted, limitsOf, type Quota, type QuotaLimits } from '@lcm/domain/quota/quota'
import type { Reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api } from '../../api-context.ts'
import { currentSettings } from '../settings/queries.ts'
import { changeQuota, sessionsOf } from './change-quota.ts'

/** Bookings in the ledger of their owner, made before their sessions. */
export interface LedgerBookings {
  /** False after a booking that took so long that its entry may be gone: its sessions must go too. */
  areHeld(): Promise<boolean>
  /** For sessions that were not inserted after all. */
  release(): Promise<unknown>
}

const UNCOUNTED: LedgerBookings = { areHeld: async () => true, release: async () => undefined }

/** Enters sessions in the ledger of their owner by compare-and-set, or refuses them all. */
export async function enterBookings(
  api: Api,
  actor: Actor,
  sessions: readonly LabletSession[],
): Promise<LedgerBookings> {
  const limits = await limitsOfActor(api, actor)
  const bookings = sessions.map(bookingOf)
  if (!isCounted(limits)) {
    for (const booking of bookings) refuse(refusalOf({}, booking, limits, toInstant(api.clock.now())))
    return UNCOUNTED
  }
  await changeLedger(api, actor, (ledger, now) =>
    bookings.reduce((entered, booking) => {
      refuse(refusalOf(entered, booking, limits, now))
      return withBooking(entered, booking, now)
    }, ledger),
  )
  const areHeld = async () => {
    const { ledger = {} } = (await api.quotas.get(actor.id)) ?? {}
    return sessions.every(({ id }) => isHolding(ledger, id, toInstant(api.clock.now())))
  }
  return { areHeld, release: () => releaseBookings(api, actor, sessions) }
}

/** Whether the quota of the actor allows bookings at other times, as far as it is used now. */
export async function quotaOf(api: Api, actor: Actor): Promise<(bookings: readonly Booking[]) => Reason | null> {
  const limits = await limitsOfActor(api, actor)
  const ledger = isCounted(limits) ? ((await api.quotas.get(actor.id))?.ledger ?? {}) : {}
  const now = toInstant(api.clock.now())
  return bookings => {
    let entered = ledger
    for (const booking of bookings) {
      const why = refusalOf(entered, booking, limits, now)
      if (why !== null) return why
      entered = withBooking(entered, booking, now)
    }
    return null
  }
}

const MINUTE_MS = 60_000

/** Extensions by operators and admins are not refused: they follow from the session. */
export async function enterExtension(
  api: Api,
  actor: Actor,
  session: LabletSession,
  minutes: number,
): Promise<() => Promise<void>> {
  if (actor.id !== session.owner) return async () => undefined
  const limits = await limitsOfActor(api, actor)
  if (!isCounted(limits)) return async () => undefined
  await changeLedger(api, actor, (ledger, now) => {
    const booked = bookingOf(session)
    // Concurrent extensions of one session add up.
    const from = ledger[session.id]?.end ?? booked.end
    const booking = { ...booked, end: toInstant(toMs(from) + minutes * MINUTE_MS) }
    refuse(tooManyAtOnce(ledger, { ...booking, start: from }, limits.live_sessions, now))
    refuse(tooManyCoreHours(ledger, booking, limits.core_hours_per_week))
    return withBooking(ledger, booking, now)
  })
  return () =>
    changeLedger(api, actor, (ledger, now) => {
      const booked = bookingOf(session)
      const end = toInstant(toMs(ledger[session.id]?.end ?? booked.end) - minutes * MINUTE_MS)
      return withBooking(ledger, { ...booked, end: end > booked.end ? end : booked.end }, now)
    })
}

function refuse(why: Reason | null): void {
  if (why !== null) throw refusedBy('quota_exceeded', why)
}

async function limitsOfActor(api: Api, actor: Actor): Promise<QuotaLimits> {
  const given = (await api.quotas.get(actor.id))?.given ?? {}
  return limitsOf({ role: actor.role, given }, await currentSettings(api))
}

/** A session that is inserted after the sessions are read has its entry in the ledger already. */
async function changeLedger(
  api: Api,
  actor: Actor,
  change: (ledger: Quota['ledger'], now: Instant) => Quota['ledger'],
): Promise<void> {
  const sessions = await sessionsOf(api, actor.id, (await api.quotas.get(actor.id))?.ledger ?? {})
  await changeQuota(api, actor.id, null, (quota, now) => {
    const ledger = change(reconciled(quota.ledger, sessions, now), now)
    return { document: { ...quota, ledger }, entries: [] }
  })
}

const releaseBookings = (api: Api, actor: Actor, sessions: readonly LabletSession[]): Promise<Quota> =>
  changeQuota(api, actor.id, null, quota => {
    const entered = sessions.filter(({ id }) => quota.ledger[id] !== undefined)
    const ledger = entered.reduce((left, { id }) => withoutBooking(left, id), quota.ledger)
    return entered.length === 0 ? null : { document: { ...quota, ledger }, entries: [] }
  })

/** The request is answered as if it had timed out, which it has. */
export const tookTooLong = (): ProblemError =>
  new ProblemError('deadline_exceeded', 'the booking took too long and was not made; try again')
