import { ProblemError, refusedBy } from '@lcm/contract/problems'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import {
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

/** A booking in the ledger of its owner, made before its session. */
export interface Admission {
  /** False after a booking that took so long that its entry may be gone: its session must go too. */
  isHeld(): Promise<boolean>
  /** For a session that was not inserted after all. */
  release(): Promise<unknown>
}

const UNCOUNTED: Admission = { isHeld: async () => true, release: async () => undefined }

/** Admits a session into the ledger of its owner by compare-and-set, or refuses it. */
export async function admitBooking(api: Api, actor: Actor, session: LabletSession): Promise<Admission> {
  const limits = await limitsOfActor(api, actor)
  const booking = bookingOf(session)
  if (!isCounted(limits)) {
    refuse(refusalOf({}, booking, limits, toInstant(api.clock.now())))
    return UNCOUNTED
  }
  await changeLedger(api, actor, (ledger, now) => {
    refuse(refusalOf(ledger, booking, limits, now))
    return withBooking(ledger, booking, now)
  })
  const isHeld = async () => {
    const { ledger = {} } = (await api.quotas.get(actor.id)) ?? {}
    return isHolding(ledger, session.id, toInstant(api.clock.now()))
  }
  return { isHeld, release: () => releaseBooking(api, actor, session.id) }
}

const MINUTE_MS = 60_000

/** Extensions by operators and admins are not refused: they follow from the session. */
export async function admitExtension(api: Api, actor: Actor, session: LabletSession, minutes: number): Promise<void> {
  if (actor.id !== session.owner) return
  const limits = await limitsOfActor(api, actor)
  if (!isCounted(limits)) return
  await changeLedger(api, actor, (ledger, now) => {
    const booked = bookingOf(session)
    // Concurrent extensions of one session add up.
    const from = ledger[session.id]?.end ?? booked.end
    const booking = { ...booked, end: toInstant(toMs(from) + minutes * MINUTE_MS) }
    refuse(tooManyAtOnce(ledger, { ...booking, start: from }, limits.live_sessions, now))
    refuse(tooManyCoreHours(ledger, booking, limits.core_hours_per_week))
    return withBooking(ledger, booking, now)
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

const releaseBooking = (api: Api, actor: Actor, id: string): Promise<Quota> =>
  changeQuota(api, actor.id, null, quota =>
    quota.ledger[id] === undefined
      ? null
      : { document: { ...quota, ledger: withoutBooking(quota.ledger, id) }, entries: [] },
  )

/** The request is answered as if it had timed out, which it has. */
export const tookTooLong = (): ProblemError =>
  new ProblemError('deadline_exceeded', 'the booking took too long and was not made; try again')
