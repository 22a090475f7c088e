import { ProblemError } from '@lcm/contract/problems'
import { mayView } from '@lcm/contract/route-spec'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { nextPatch } from '@lcm/domain/definition/lablet-definition'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { withoutQuery } from '../../narrow-view.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { newId } from '../ids.ts'
import { auditEntry } from '../journal/entries.ts'
import { type Content, changedContent, contentOf, isSameContent } from './definition-content.ts'
import { deprecateReplaced } from './deprecate-replaced-versions.ts'
import { findDefinition, newestFirst, versionsOf } from './queries.ts'

type DefinitionRequest<B = unknown> = Request<{ id: string }, unknown, B>

const FIRST_VERSION = '1.0.0'

/** An inline topology is validated at once; a remote one is requested, and the definition waits for it. */
export async function createDefinition(
  api: Api,
  request: Request<object, unknown, BodyOf<'createDefinition'>>,
): Promise<StoredDefinition> {
  const { body, actor, once } = request
  const existing = once === null ? null : await api.definitions.get(once.resourceId)
  if (existing !== null) return existing
  const { name, ...rest } = body
  const content = await contentOf(api, rest)
  if ((await versionsOf(api, name)).length > 0) throw alreadyExists(name)
  const definition = newVersion(api, content, {
    id: once?.resourceId ?? newDefinitionId(api),
    name,
    created_by: actor.name,
    definition_version: FIRST_VERSION,
    replaces: null,
  })
  const result = await api.definitions.insert(definition, [created(request, definition)])
  const stored = result.ok ? definition : once === null ? null : await api.definitions.get(definition.id)
  if (stored === null) throw alreadyExists(name)
  return stored
}

const alreadyExists = (name: string) => new ProblemError('already_exists', `there is a definition ${name} already`)

export const newDefinitionId = (api: Api): string => newId(api, 'ld')

type Identity = Pick<StoredDefinition, 'id' | 'name' | 'created_by' | 'definition_version' | 'replaces'>

export function newVersion(api: Api, content: Content, identity: Identity): StoredDefinition {
  const now = toInstant(api.clock.now())
  return {
    ...content,
    ...identity,
    ...stateOf(content, now),
    version: 1,
    created_at: now,
    updated_at: now,
    fence: {},
  }
}

/** Bookable with a topology; otherwise the topology must be fetched first. */
const stateOf = ({ topology }: Content, now: Instant): Pick<StoredDefinition, 'status' | 'sync'> => ({
  status: topology === null ? 'PENDING_SYNC' : 'ACTIVE',
  sync: {
    status: topology === null ? 'requested' : 'none',
    error: null,
    at: topology === null ? now : null,
    package_sha256: null,
  },
})

const created = ({ actor }: Pick<DefinitionRequest, 'actor'>, definition: StoredDefinition) =>
  auditEntry(actor, 'create', definition.created_at, { after: auditFields(definition) })

/** The topology may be long; its hash shows whether it changed. */
const auditFields = ({ topology: _, fence: __, ...rest }: StoredDefinition) => ({
  ...rest,
  source: withoutQuery(rest.source),
})

/**
 * A pending definition is changed in place. An ACTIVE one is immutable, because sessions pin it: the next version is created.
 */
export async function putDefinition(
  api: Api,
  request: DefinitionRequest<BodyOf<'putDefinition'>>,
): Promise<StoredDefinition> {
  const current = await findDefinition(api, request.params.id)
  const content = await changedContent(api, current, request.body)
  const successor = (await versionsOf(api, current.name)).find(each => each.replaces === current.id)
  // A repeated request finds the version that the first one created.
  if (successor !== undefined && isSameContent(successor, content)) {
    await deprecateReplaced(api, current.name)
    return successor
  }
  refuseStale(current, request.ifMatch)
  if (current.status === 'DEPRECATED') throw deprecated(current)
  if (isSameContent(current, content)) return current
  if (current.status === 'PENDING_SYNC') return rewritten(api, request, current.id, content)
  if (successor?.status === 'PENDING_SYNC') return rewritten(api, { ...request, ifMatch: null }, successor.id, content)
  return nextVersion(api, request, current, { content })
}

const deprecated = ({ name, definition_version }: StoredDefinition) =>
  new ProblemError('definition_deprecated', `${name} ${definition_version} is DEPRECATED; change its newest version`)

async function rewritten(
  api: Api,
  request: DefinitionRequest,
  id: string,
  content: Content,
): Promise<StoredDefinition> {
  const target = { collection: api.definitions, id, noun: 'definition' }
  const written = await changeDocument(target, api.clock, request.ifMatch, (current, now) => {
    if (current.status !== 'PENDING_SYNC')
      throw new ProblemError('version_mismatch', `${current.name} is ${current.status} by now: read it again`)
    const document = { ...current, ...content, ...stateOf(content, now) }
    return {
      document,
      entries: [auditEntry(request.actor, 'put', now, { before: auditFields(current), after: auditFields(document) })],
    }
  })
  await deprecateReplaced(api, written.name)
  return written
}

/** Creates the next version. The previous one is deprecated only when this one can be booked. */
export async function nextVersion(
  api: Api,
  request: Pick<DefinitionRequest, 'actor'>,
  before: StoredDefinition,
  { content, sync = null }: { content: Content; sync?: StoredDefinition['sync'] | null },
): Promise<StoredDefinition> {
  const { name } = before
  const [newest = before] = newestFirst(await versionsOf(api, name))
  const made = newVersion(api, content, {
    id: newDefinitionId(api),
    name,
    created_by: request.actor.name,
    definition_version: nextPatch(newest.definition_version),
    replaces: before.id,
  })
  const definition = sync === null ? made : { ...made, sync }
  const result = await api.definitions.insert(definition, [created(request, definition)])
  if (!result.ok) throw new ProblemError('version_mismatch', `${name} got another version meanwhile: read it again`)
  await deprecateReplaced(api, name)
  return definition
}

export function deprecateDefinition(
  api: Api,
  request: DefinitionRequest<BodyOf<'deprecateDefinition'>>,
): Promise<StoredDefinition> {
  const target = { collection: api.definitions, id: request.params.id, noun: 'definition' }
  return changeDocument(target, api.clock, null, (current, now) => {
    if (current.status === 'DEPRECATED') return null
    refuseStale(current, request.ifMatch)
    const { status } = current
    const more = { before: { status }, after: { status: 'DEPRECATED' }, reason: request.body.reason }
    return {
      document: { ...current, status: 'DEPRECATED' },
      entries: [auditEntry(request.actor, 'deprecate', now, more)],
    }
  })
}

/**
 * Deprecates before it deletes: a concurrent booking then finds it DEPRECATED and is refused, so that no session loses its
 * definition.
 */
export async function deleteDefinition(api: Api, request: DefinitionRequest): Promise<null> {
  const found = await findDefinition(api, request.params.id)
  refuseStale(found, request.ifMatch)
  await refuseInUse(api, found, request.actor)
  const closed = await deprecateDefinition(api, { ...request, body: { reason: 'it is being deleted' } })
  await refuseInUse(api, closed, request.actor)
  const { name, definition_version } = closed
  const entry = auditEntry(request.actor, 'delete', toInstant(api.clock.now()), {
    before: { name, definition_version },
  })
  if (!(await api.definitions.remove(closed, [entry])).ok)
    throw new ProblemError('version_mismatch', `${name} was changed meanwhile: read it again`)
  return null
}

async function refuseInUse(api: Api, { id, name, definition_version }: StoredDefinition, actor: Actor): Promise<void> {
  const [session] = await api.sessions.list({ where: { definition_id: id, is_over: 'no' }, limit: 1 })
  if (session === undefined) return
  const who = mayView(actor, session.owner) ? `session ${session.id}` : 'a session of another owner'
  throw new ProblemError('definition_in_use', `${who} needs ${name} ${definition_version}, and is not over`)
}
