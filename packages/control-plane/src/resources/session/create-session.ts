import { ProblemError } from '@lcm/contract/problems'
import { mayModify } from '@lcm/contract/route-spec'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition, StoredSave } from '../../internal-documents.ts'
import { deprecateReplaced } from '../definition/deprecate-replaced-versions.ts'
import { newestFirst, versionsOf } from '../definition/queries.ts'
import { newId } from '../ids.ts'
import { auditEntry, transitionEntry } from '../journal/entries.ts'
import { type Admission, admitBooking, tookTooLong } from '../quota/admit-booking.ts'
import { claimSave } from '../save/delete-save.ts'
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
  const { definition, save } = await wanted(api, request)
  const now = toInstant(api.clock.now())
  const timeslot = timeslotOf(body, definition, now)
  const id = once?.resourceId ?? newId(api, 'ls')
  const { reservation_id = null } = body
  const restore_from = save?.id ?? null
  const booking = { timeslot, owner: actor.id, by: actor.name, reservation_id, restore_from }
  const session = newSession(id, definition, booking, now)
  const after = { definition: session.definition, timeslot, reservation_id, restore_from }
  const entries = [
    auditEntry(actor, 'create', now, { after }),
    ...session.state_history.map(change => transitionEntry(change, actor.name)),
  ]
  const admission = await admitBooking(api, actor, session)
  if (save !== null) await claim(api, save, { id, admission })
  const result = await api.sessions.insert(session, entries)
  if (result.ok) return stillBookable(api, session, request, admission)
  const stored = once === null ? null : await api.sessions.get(id)
  if (stored !== null) return stored
  await admission.release()
  throw new ProblemError('already_exists', `you have a session with reservation_id ${reservation_id} already`)
}

interface Wanted {
  readonly definition: StoredDefinition
  /** The save to continue from; null to start afresh. */
  readonly save: StoredSave | null
}

async function wanted(api: Api, { body, actor }: Request<object, unknown, Body>): Promise<Wanted> {
  const { definition, resume_save } = body
  if (definition !== undefined && resume_save === undefined)
    return { definition: await bookable(api, definition), save: null }
  if (definition === undefined && resume_save !== undefined) return resumable(api, resume_save, actor)
  const message = 'give definition or resume_save, not both'
  throw new ProblemError('validation_failed', `body.definition: ${message}`, [{ path: 'body.definition', message }])
}

/** The save needs its own version of the definition, even when a newer one replaced it. */
async function resumable(api: Api, saveId: string, actor: Actor): Promise<Wanted> {
  const save = await api.saves.get(saveId)
  if (save === null || !mayModify(actor, save.owner)) throw saveNotFound(saveId)
  const { id, name, version } = save.definition
  const definition = await api.definitions.get(id)
  if (definition !== null) return { definition, save }
  throw new ProblemError(
    'definition_not_found',
    `${saveId} needs ${name} ${version}, which was deleted. Download the save and create a definition from it`,
  )
}

const saveNotFound = (id: string) => new ProblemError('save_not_found', `there is no save ${id}`)

/** The retention may have removed it meanwhile. */
async function claim(api: Api, save: StoredSave, booking: { id: string; admission: Admission }): Promise<void> {
  try {
    await claimSave(api, save, booking.id)
  } catch (error) {
    await booking.admission.release()
    throw error instanceof ProblemError && error.code === 'not_found' ? saveNotFound(save.id) : error
  }
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
  const isActive =
    definition !== null && (definition.status === 'ACTIVE' || (await isHeldFor(api, session, definition)))
  if (isActive && (await admission.isHeld())) return session
  const { ok } = await api.sessions.remove(session)
  // A concurrent writer may have placed it, so it is canceled like any other.
  if (!ok && (await api.sessions.get(session.id)) !== null)
    await cancelSession(api, { ...request, params: { id: session.id }, ifMatch: null, once: null })
  await admission.release()
  if (isActive) throw tookTooLong()
  throw new ProblemError('definition_not_active', `${session.definition.name} was deprecated at the same time`)
}

/** A save may need a deprecated version. Its new version makes a deletion at the same time fail. */
async function isHeldFor(api: Api, session: LabletSession, definition: StoredDefinition): Promise<boolean> {
  if (session.restore_from === null) return false
  if ((await api.definitions.replace({ ...definition, version: definition.version + 1 })).ok) return true
  const current = await api.definitions.get(definition.id)
  return current !== null && isHeldFor(api, session, current)
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
