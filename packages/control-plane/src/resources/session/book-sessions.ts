import { ProblemError } from '@lcm/contract/problems'
import type { Instant } from '@lcm/domain/instant'
import { toInstant, toMs } from '@lcm/domain/instant'
import { bookingOf } from '@lcm/domain/quota/booking-ledger'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition, StoredSave } from '../../internal-documents.ts'
import { admitSessions } from '../calendar/admit-sessions.ts'
import { entriesOfBooking } from '../calendar/finish-batch.ts'
import { enterBookings, type LedgerBookings, quotaOf, tookTooLong } from '../quota/enter-bookings.ts'
import { claimSave } from '../save/delete-save.ts'
import { saveNotFound } from '../save/queries.ts'
import { cancelSession } from './session-lifecycle-commands.ts'

/** Sessions to book for one owner at one time. */
export interface Order {
  /** Every session but for the id. */
  readonly session: LabletSession
  readonly ids: readonly string[]
  readonly definition: StoredDefinition
  /** The save to continue from; null to start afresh. */
  readonly save: StoredSave | null
  readonly best_effort: boolean
}

type Booker = Pick<Request<object, unknown, unknown>, 'actor' | 'fence' | 'epoch' | 'origin' | 'signal' | 'lastEventId'>

/**
 * Enters the sessions in the ledger of their owner, then in the calendar, which inserts them. What is refused on the way is released
 * again; what a crash leaves is finished or removed by any replica.
 */
export async function bookSessions(api: Api, booker: Booker, order: Order): Promise<LabletSession[]> {
  const { ids, session, definition } = order
  const ledger = await enterBookings(
    api,
    booker.actor,
    ids.map(id => ({ ...session, id })),
  )
  try {
    if (order.save !== null) await claim(api, order.save, session.id)
    await (order.best_effort ? insertWithoutPromise(api, booker, order) : insertAdmitted(api, booker, order))
  } catch (error) {
    // After any other error the sessions may exist, or be inserted by another replica.
    if (error instanceof ProblemError) await ledger.release()
    throw error
  }
  const booked = (await Promise.all(ids.map(id => api.sessions.get(id)))).flatMap(found => found ?? [])
  if (booked.length < ids.length) {
    await ledger.release()
    throw new ProblemError('already_exists', `you have a session with reservation_id ${session.reservation_id} already`)
  }
  await refuseUnlessBookable(api, booker, { booked, definition, ledger })
  return booked
}

async function insertAdmitted(api: Api, { actor }: Booker, { session, ids, definition }: Order): Promise<void> {
  const refusalBy = await quotaOf(api, actor)
  await admitSessions(api, {
    session,
    definition,
    actor: { id: actor.id, name: actor.name, role: actor.role },
    groups: [{ timeslot: session.timeslot, ids }],
    isAllowed: start => refusalBy(ids.map(id => bookingOf({ ...movedTo(session, start), id }))) === null,
  })
}

/** The session at another time. */
export function movedTo(session: LabletSession, start: Instant): LabletSession {
  const lengthMs = toMs(session.timeslot.end) - toMs(session.timeslot.start)
  return { ...session, timeslot: { start, end: toInstant(toMs(start) + lengthMs) } }
}

async function insertWithoutPromise(api: Api, { actor }: Booker, { session, ids }: Order): Promise<void> {
  for (const id of ids) {
    const inserted = { ...session, id }
    await api.sessions.insert(inserted, entriesOfBooking(inserted, actor))
  }
}

/** The retention may have removed it meanwhile. */
async function claim(api: Api, save: StoredSave, id: string): Promise<void> {
  try {
    await claimSave(api, save, id)
  } catch (error) {
    throw error instanceof ProblemError && error.code === 'not_found' ? saveNotFound(save.id) : error
  }
}

/** A concurrent deletion of the definition didn't see these sessions, so they are removed. */
async function refuseUnlessBookable(
  api: Api,
  booker: Booker,
  {
    booked,
    definition,
    ledger,
  }: { booked: readonly LabletSession[]; definition: StoredDefinition; ledger: LedgerBookings },
): Promise<void> {
  const current = await api.definitions.get(definition.id)
  const isBookable = current !== null && (current.status === 'ACTIVE' || (await areHeldFor(api, booked, current)))
  if (isBookable && (await ledger.areHeld())) return
  for (const session of booked) {
    const { ok } = await api.sessions.remove(session)
    // A concurrent writer may have placed it, so it is canceled like any other.
    if (!ok && (await api.sessions.get(session.id)) !== null)
      await cancelSession(api, {
        ...booker,
        query: {},
        body: {},
        params: { id: session.id },
        ifMatch: null,
        once: null,
      })
  }
  await ledger.release()
  if (isBookable) throw tookTooLong()
  throw new ProblemError('definition_not_active', `${definition.name} was deprecated at the same time`)
}

/** A save may need a deprecated version. Its new version makes a deletion at the same time fail. */
async function areHeldFor(api: Api, booked: readonly LabletSession[], definition: StoredDefinition): Promise<boolean> {
  if (booked.every(({ restore_from }) => restore_from === null)) return false
  if ((await api.definitions.replace({ ...definition, version: definition.version + 1 })).ok) return true
  const current = await api.definitions.get(definition.id)
  return current !== null && areHeldFor(api, booked, current)
}
