import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { type Instant, toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import type { StoredDefinition } from '../../internal-documents.ts'
import { changeDocument, refuseStale } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { nextVersion } from './commands.ts'
import { invalidPorts, summarizePortErrors, withTopology, yieldToOthers } from './definition-content.ts'
import { deprecateReplaced } from './deprecate-replaced-versions.ts'
import { findDefinition, versionsOf } from './queries.ts'
import { readTopology, summarizeErrors, type TopologyRead } from './topology/read-topology.ts'

type DefinitionRequest<B> = Request<{ id: string }, unknown, B>
type SyncRequest = DefinitionRequest<BodyOf<'recordSync'>>

/** Requests a sync; the lablet-controller fetches the package and reports the result. */
export function requestSync(api: Api, request: DefinitionRequest<BodyOf<'syncDefinition'>>): Promise<StoredDefinition> {
  const target = { collection: api.definitions, id: request.params.id, noun: 'definition' }
  return changeDocument(target, api.clock, null, (current, now) => {
    if (current.sync.status === 'requested') return null
    refuseStale(current, request.ifMatch)
    const { name } = current
    if (current.source === 'inline')
      throw new ProblemError('source_inline', `the topology of ${name} was given inline; PUT it to change it`)
    if (current.status === 'DEPRECATED') throw new ProblemError('definition_deprecated', `${name} is DEPRECATED`)
    const sync = { ...current.sync, status: 'requested' as const, at: now, error: null }
    return {
      document: { ...current, sync },
      entries: [auditEntry(request.actor, 'sync', now, { reason: request.body.reason })],
    }
  })
}

/**
 * Known content changes nothing; new content makes a pending definition ACTIVE, or creates the next version of an ACTIVE one.
 * A result that an edit has superseded is ignored.
 */
export async function recordSync(api: Api, request: SyncRequest): Promise<StoredDefinition> {
  const { result } = request.body
  const current = await findDefinition(api, request.params.id)
  raiseDocumentFence(current, request)
  if (!isAwaited(current, request)) return current
  if ('error' in result) return concluded(api, request, { status: 'failed', error: result.error })
  const reading = await readTopology(result.topology, yieldToOthers(api))
  if (!reading.ok)
    return concluded(api, request, { status: 'failed', error: summarizeErrors(reading.errors).slice(0, 1000) })
  const { package_sha256 } = result
  const isKnown = current.sync.package_sha256 === package_sha256 || current.topology_sha256 === reading.sha256
  const stray = isKnown ? [] : invalidPorts(current, reading)
  if (stray.length > 0) return concluded(api, request, { status: 'failed', error: summarizePortErrors(stray) })
  if (current.status === 'ACTIVE' && !isKnown) return succeeded(api, request, current, reading)
  const written = await concluded(api, request, { status: 'success', error: null }, definition =>
    definition.status === 'PENDING_SYNC'
      ? { ...withTopology(definition, result.topology, reading), status: 'ACTIVE' }
      : definition,
  )
  await deprecateReplaced(api, written.name)
  return written
}

const isAwaited = ({ source, sync }: StoredDefinition, { body }: SyncRequest): boolean =>
  sync.status === 'requested' && source === body.source && sync.at === body.requested_at

type Outcome = Pick<StoredDefinition['sync'], 'status' | 'error'>

function concluded(
  api: Api,
  request: SyncRequest,
  outcome: Outcome,
  change: (definition: StoredDefinition) => StoredDefinition = definition => definition,
): Promise<StoredDefinition> {
  const target = { collection: api.definitions, id: request.params.id, noun: 'definition' }
  return changeDocument(target, api.clock, null, (current, now) => {
    if (!isAwaited(current, request)) return null
    const document = {
      ...change(current),
      sync: syncOf(current, request, outcome, now),
      fence: raiseDocumentFence(current, request),
    }
    const more = { before: auditFields(current), after: auditFields(document), reason: outcome.error ?? '' }
    return { document, entries: [auditEntry(request.actor, 'sync-result', now, more)] }
  })
}

function syncOf(
  current: StoredDefinition,
  { body }: SyncRequest,
  outcome: Outcome,
  at: Instant,
): StoredDefinition['sync'] {
  const fetched = 'package_sha256' in body.result ? body.result.package_sha256 : null
  return { ...outcome, at, package_sha256: outcome.status === 'success' ? fetched : current.sync.package_sha256 }
}

const auditFields = ({ status, sync, topology_sha256 }: StoredDefinition) => ({
  status,
  sync: sync.status,
  topology_sha256,
})

/** Writes the new version first: a crash between the two writes leaves one that can be booked. */
async function succeeded(
  api: Api,
  request: SyncRequest,
  current: StoredDefinition,
  reading: TopologyRead,
): Promise<StoredDefinition> {
  const { result } = request.body
  const topology = 'topology' in result ? result.topology : ''
  const outcome = { status: 'success', error: null } as const
  const versions = await versionsOf(api, current.name)
  // Created from this result before a crash, or by an author just now.
  const successor = versions.find(each => each.replaces === current.id && each.status === 'ACTIVE')
  const sync = syncOf(current, request, outcome, toInstant(api.clock.now()))
  const content = withTopology(current, topology, reading)
  const made = successor ?? (await nextVersion(api, request, current, { content, sync }))
  await concluded(api, request, outcome)
  await deprecateReplaced(api, current.name)
  return made
}
