import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { toInstant } from '@lcm/domain/instant'
import { bookingOf } from '@lcm/domain/quota/booking-ledger'
import { redactReason } from '@lcm/domain/redact-reason'
import type { Api, Request } from '../../api-context.ts'
import { seesAll } from '../../visibility.ts'
import { findDefinition } from '../definition/queries.ts'
import { nthId } from '../ids.ts'
import { quotaOf } from '../quota/enter-bookings.ts'
import { movedTo } from '../session/book-sessions.ts'
import { timeslotOf } from '../session/create-session.ts'
import { newSession } from '../session/new-session-document.ts'
import { admissionShortage } from './admit-sessions.ts'

const FIRST_ID = 'ls-0000000000000'

/** Decides as a booking would, and promises nothing. */
export async function previewAdmission(
  api: Api,
  { params, body, actor }: Request<{ id: string }, unknown, BodyOf<'previewAdmission'>>,
): Promise<AnswerOf<'previewAdmission'>> {
  const definition = await findDefinition(api, params.id)
  const { seats } = body
  const timeslot = timeslotOf(body, definition, toInstant(api.clock.now()))
  const session = newSession(FIRST_ID, definition, { timeslot, owner: actor.id, by: actor.name, reservation_id: null })
  const ids = Array.from({ length: seats }, (_, seat) => nthId(FIRST_ID, seat))
  const refusalBy = await quotaOf(api, actor)
  const quotaRefusal = (start = timeslot.start) =>
    refusalBy(ids.map(id => bookingOf({ ...movedTo(session, start), id })))
  const overQuota = quotaRefusal()
  if (overQuota !== null)
    return { outcome: 'refused', timeslot, seats, free_seats: 0, because: overQuota, alternatives: [] }
  const refused = await admissionShortage(api, {
    session,
    definition,
    actor: { id: actor.id, name: actor.name, role: actor.role },
    groups: [{ timeslot, ids }],
    isAllowed: start => quotaRefusal(start) === null,
  })
  if (refused === null)
    return { outcome: 'admitted', timeslot, seats, free_seats: seats, because: null, alternatives: [] }
  const { free_seats, alternatives } = refused
  const because = seesAll(actor) ? refused.because : redactReason(refused.because)
  return { outcome: 'refused', timeslot, seats, free_seats, because, alternatives }
}
