import { ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toInstant, toMs } from '@lcm/domain/instant'
import type { Api, Request } from '../api-context.ts'
import { sha256 } from '../crypto.ts'
import type { IdempotentRequest } from '../internal-documents.ts'
import { type IdPrefix, newId } from '../resources/ids.ts'

export const IDEMPOTENCY_HEADER = 'idempotency-key'
export const IDEMPOTENCY_MS = 24 * 3_600_000
/** A request without a response after this long died with its process. */
const STARTED_MS_MAX = 30_000

export type Once = NonNullable<Request<unknown, unknown, unknown>['once']>

/**
 * Executes a request with a key once. The id of the resource that it creates is stored first, so that a retry after a crash
 * creates the same resource. Its response is kept for a day and replay.
 */
export async function executeOnce(
  api: Api,
  { request, actor, path }: { request: ApiRequest; actor: Actor; path: string },
  execute: (once: Once | null) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const key = request.headers[IDEMPOTENCY_HEADER]
  if (key === undefined) return execute(null)
  refuseKey(key)
  // Without the active key the request would be carried out and its answer lost.
  await api.keys.state()
  const id = sha256(JSON.stringify([actor.id, request.method, path, key]))
  const stored = await begin(api, id, {
    body_sha256: sha256(request.body ?? ''),
    resource_id: resourceIdFor(api, path),
  })
  if (stored.answer !== null) return replay(api, stored)
  const response = await execute({ resourceId: stored.resource_id, key: id })
  if (response.status < 500) await finish(api, stored, response)
  return response
}

function refuseKey(key: string): void {
  if (/^[\x20-\x7e]{1,128}$/.test(key)) return
  const message = '1 to 128 printable characters'
  throw new ProblemError('validation_failed', `Idempotency-Key: ${message}`, [
    { path: 'headers.idempotency-key', message },
  ])
}

const PREFIXES: Readonly<Record<string, IdPrefix>> = {
  workers: 'w',
  'worker-templates': 'wt',
  tokens: 'tk',
  people: 'pe',
  'lablet-definitions': 'ld',
  'lablet-sessions': 'ls',
}

function resourceIdFor(api: Api, path: string): string {
  const [, area = ''] = path.split('/')
  return newId(api, PREFIXES[area] ?? 'w')
}

/** The stored request: new, taken over from a dead process, or finished. Others are refused. */
async function begin(
  api: Api,
  id: string,
  { body_sha256, resource_id }: Pick<IdempotentRequest, 'body_sha256' | 'resource_id'>,
): Promise<IdempotentRequest> {
  const started_at = toInstant(api.clock.now())
  const first: IdempotentRequest = { id, version: 1, body_sha256, resource_id, started_at, answer: null }
  if ((await api.idempotentRequests.insert(first)).ok) return first
  const known = await api.idempotentRequests.get(id)
  if (known === null) throw inProgress()
  if (isExpired(api, known)) {
    const restarted = { ...first, version: known.version + 1 }
    if ((await api.idempotentRequests.replace(restarted)).ok) return restarted
    throw inProgress()
  }
  if (known.body_sha256 !== body_sha256)
    throw new ProblemError('idempotency_key_reused', 'this key came with another body before; use a new one')
  if (known.answer !== null) return known
  // A start that far in the future has expired too: the clock was set back since.
  if (Math.abs(api.clock.now() - toMs(known.started_at)) < STARTED_MS_MAX) throw inProgress()
  const resumed = { ...known, version: known.version + 1, started_at }
  if ((await api.idempotentRequests.replace(resumed)).ok) return resumed
  throw inProgress()
}

const inProgress = (): ProblemError =>
  new ProblemError(
    'idempotency_in_progress',
    'the same request is being carried out; ask again in a moment',
    undefined,
    { retryAfterSeconds: STARTED_MS_MAX / 1000 },
  )

const isExpired = (api: Api, { started_at }: IdempotentRequest): boolean =>
  api.clock.now() - toMs(started_at) > IDEMPOTENCY_MS

async function finish(api: Api, stored: IdempotentRequest, response: ApiResponse): Promise<void> {
  if (response.body !== null && typeof response.body !== 'string') return
  // Sealed after `begin` has written: a rotation of keys rewrites each open request, so that no older key is used here.
  const sealed_body = response.body === null ? null : await api.keys.seal(response.body, stored.id)
  const answer = { status: response.status, headers: { ...response.headers }, sealed_body }
  if ((await api.idempotentRequests.replace({ ...stored, version: stored.version + 1, answer })).ok) return
  const rewritten = await api.idempotentRequests.get(stored.id)
  if (rewritten?.answer === null && rewritten.resource_id === stored.resource_id) await finish(api, rewritten, response)
}

async function replay(api: Api, { id, answer }: IdempotentRequest): Promise<ApiResponse> {
  if (answer === null) throw inProgress()
  const current = async () => (await api.idempotentRequests.get(id))?.answer?.sealed_body ?? null
  const body = answer.sealed_body === null ? null : await api.keys.openStored(current, id)
  return { status: answer.status, headers: { ...answer.headers, 'idempotent-replayed': 'true' }, body }
}

/** Deletes responses older than a day. Ids don't sort by age, so every page is read. */
export async function deleteExpiredRequests(api: Api, pageSize: number): Promise<void> {
  let after = ''
  for (;;) {
    const page = await api.idempotentRequests.list({ after, limit: pageSize })
    for (const request of page) if (isExpired(api, request)) await api.idempotentRequests.remove(request)
    const last = page.at(-1)
    if (last === undefined || page.length < pageSize) return
    after = last.id
  }
}
