import { ProblemError } from '@lcm/contract/problems'
import { mayModify } from '@lcm/contract/route-spec'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition, StoredSave } from '../../internal-documents.ts'
import { finishedHead } from '../calendar/finish-batch.ts'
import { deprecateReplaced } from '../definition/deprecate-replaced-versions.ts'
import { newestFirst, versionsOf } from '../definition/queries.ts'
import { newId, nthId } from '../ids.ts'
import { saveNotFound } from '../save/queries.ts'
import { bookSessions } from './book-sessions.ts'
import { endAfter, invalidTimeslot, newSession } from './new-session-document.ts'

type Body = BodyOf<'createSession'>

const MINUTE_MS = 60_000
/** Clocks differ, and a form takes a while to fill in. */
const PAST_MS_MAX = 5 * MINUTE_MS

export async function createSession(api: Api, request: Request<object, unknown, Body>): Promise<LabletSession> {
  const { body, actor, once } = request
  const id = once?.resourceId ?? newId(api, 'ls')
  const [existing] = once === null ? [] : await bookedBefore(api, [id])
  if (existing !== undefined) return existing
  const { definition, save } = await wanted(api, request)
  const now = toInstant(api.clock.now())
  const { reservation_id = null, best_effort } = body
  const restore_from = save?.id ?? null
  const timeslot = timeslotOf(body, definition, now)
  const session = newSession(
    id,
    definition,
    { timeslot, owner: actor.id, by: actor.name, reservation_id, restore_from },
    now,
  )
  const [booked = session] = await bookSessions(api, request, { session, definition, save, ids: [id], best_effort })
  return booked
}

/** Books all seats or none. */
export async function createSessions(
  api: Api,
  request: Request<object, unknown, BodyOf<'createSessions'>>,
): Promise<AnswerOf<'createSessions'>> {
  const { body, actor, once } = request
  const first = once?.resourceId ?? newId(api, 'ls')
  const ids = Array.from({ length: body.seats }, (_, seat) => nthId(first, seat))
  const existing = once === null ? [] : await bookedBefore(api, ids)
  if (existing.length === ids.length) return { items: existing }
  const definition = await bookable(api, body.definition)
  const now = toInstant(api.clock.now())
  const timeslot = timeslotOf(body, definition, now)
  const session = newSession(
    first,
    definition,
    { timeslot, owner: actor.id, by: actor.name, reservation_id: null },
    now,
  )
  const { best_effort } = body
  return { items: await bookSessions(api, request, { session, definition, save: null, ids, best_effort }) }
}

/** The sessions of a request that was carried out before, also by a process that crashed then. */
async function bookedBefore(api: Api, ids: readonly string[]): Promise<LabletSession[]> {
  await finishedHead(api)
  const found = await Promise.all(ids.map(id => api.sessions.get(id)))
  return found.flatMap(session => session ?? [])
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

/** The booked time, unless the definition or the clock forbids it. */
export function timeslotOf(
  body: Pick<Body, 'start' | 'end' | 'duration_minutes'>,
  definition: StoredDefinition,
  now: Instant,
): LabletSession['timeslot'] {
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
