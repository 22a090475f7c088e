import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { deprecateReplaced } from '../definition/deprecate-replaced-versions.ts'
import { newestFirst, versionsOf } from '../definition/queries.ts'
import { newId } from '../ids.ts'
import { auditEntry, transitionEntry } from '../journal/entries.ts'
import { type Admission, admitBooking, tookTooLong } from '../quota/admit-booking.ts'
import { endAfter, invalidTimeslot, newSession } from './new-session-document.ts'
import { cancelSession } from './session-lifecycle-commands.ts'

type Body = BodyOf<'createSession'>

const MINUTE_MS = 60_000
/** Clocks differ, and a form takes a while to fill in. */
const PAST_MS_MAX = 5 * MINUTE_MS

export async function createSession(api: Api, request: Request<object, unknown, Body>): Promise<LabletSession> {
  const { body, actor, once } = request
  const existing = once === null ? null : await api.sessions.get(once.resourceId)
  if (existing !== null) return existing
  const definition = await bookable(api, body.definition)
  const now = toInstant(api.clock.now())
  const timeslot = timeslotOf(body, definition, now)
  const id = once?.resourceId ?? newId(api, 'ls')
  const { reservation_id = null } = body
  const session = newSession(id, definition, { timeslot, owner: actor.id, by: actor.name, reservation_id }, now)
  const entries = [
    auditEntry(actor, 'create', now, { after: { definition: session.definition, timeslot, reservation_id } }),
    ...session.state_history.map(change => transitionEntry(change, actor.name)),
  ]
  const admission = await admitBooking(api, actor, session)
  const result = await api.sessions.insert(session, entries)
  if (result.ok) return stillBookable(api, session, request, admission)
  const stored = once === null ? null : await api.sessions.get(id)
  if (stored !== null) return stored
  await admission.release()
  throw new ProblemError('already_exists', `you have a session with reservation_id ${reservation_id} already`)
}

/** By id, or the newest ACTIVE version of a name. */
async function bookable(api: Api, wanted: string): Promise<StoredDefinition> {
  const byId = await api.definitions.get(wanted)
  const name = byId?.name ?? wanted
  await deprecateReplaced(api, name)
  const versions = newestFirst(await versionsOf(api, name))
  if (versions.length === 0) throw new ProblemError('definition_not_found', `there is no definition ${wanted}`)
  const found =
    byId === null ? versions.find(({ status }) => status === 'ACTIVE') : versions.find(({ id }) => id === wanted)
  if (found?.status === 'ACTIVE') return found
  const { definition_version = '', status = '' } = found ?? versions[0] ?? {}
  throw new ProblemError('definition_not_active', `${name} ${definition_version} is ${status}`)
}

/** A concurrent deletion of the definition didn't see this session, so the session is removed. */
async function stillBookable(
  api: Api,
  session: LabletSession,
  request: Request<object, unknown, Body>,
  admission: Admission,
): Promise<LabletSession> {
  const definition = await api.definitions.get(session.definition.id)
  const isActive = definition?.status === 'ACTIVE'
  if (isActive && (await admission.isHeld())) return session
  const { ok } = await api.sessions.remove(session)
  // A concurrent writer may have placed it, so it is canceled like any other.
  if (!ok && (await api.sessions.get(session.id)) !== null)
    await cancelSession(api, { ...request, params: { id: session.id }, ifMatch: null, once: null })
  await admission.release()
  if (isActive) throw tookTooLong()
  throw new ProblemError('definition_not_active', `${session.definition.name} was deprecated at the same time`)
}

function timeslotOf(body: Body, definition: StoredDefinition, now: Instant): LabletSession['timeslot'] {
  const { start = now, end: givenEnd, duration_minutes } = body
  const { name, max_duration_minutes: longest } = definition
  if (givenEnd !== undefined && duration_minutes !== undefined)
    throw invalidTimeslot('give end or duration_minutes, not both')
  const end = givenEnd ?? endAfter(start, duration_minutes ?? longest)
  const minutes = (toMs(end) - toMs(start)) / MINUTE_MS
  if (minutes <= 0) throw invalidTimeslot(`it would end at ${end}, and begins at ${start}`)
  if (toMs(start) < toMs(now) - PAST_MS_MAX) throw invalidTimeslot(`it would begin at ${start}, which is past`)
  if (end <= now) throw invalidTimeslot(`it would end at ${end}, which is past`)
  if (minutes > longest)
    throw invalidTimeslot(`it would last ${Math.ceil(minutes)} min, and ${name} may last ${longest} min`)
  return { start, end }
}
