import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import type { Collection, Document } from '@lcm/store/store'
import type { Api, Request } from '../api-context.ts'
import type { IdempotentRequest, KeyRingState, Secret, StoredSave } from '../internal-documents.ts'
import { auditEntry } from '../resources/journal/entries.ts'
import { NO_KEY_ID, UNANSWERED } from '../resources.ts'
import { replicasWithout } from './key-ring.ts'

const KEY_BYTES = 32
const PAGE = 200
/** Texts that one request seals again, so that it ends well before its deadline. */
const BATCH = 500

/**
 * One step of a rotation: add and activate a new key, seal up to BATCH texts again, or remove the older keys. Each step can be
 * repeated and continues where a crash ended another one.
 */
export async function rotateKey(
  api: Api,
  { actor }: Request<unknown, unknown, unknown>,
): Promise<AnswerOf<'rotateSecretKey'>> {
  const ring = await activateNewest(api, actor)
  const older = olderIds(api, ring)
  const { resealed, isComplete } = await resealAll(api, [...older, NO_KEY_ID])
  const isDone = isComplete && (await retire(api, ring.active, older))
  const removable = isDone && api.keys.keys.file === null ? older : []
  return { active_key: ring.active, resealed, done: isDone, removable_keys: removable }
}

const olderIds = (api: Api, { active, older }: KeyRingState): string[] =>
  [...new Set([...older, ...api.keys.ids()])].filter(id => id !== active)

/** The state with the newest key active. A rotation that has begun is continued instead of adding another key. */
async function activateNewest(api: Api, actor: Actor): Promise<KeyRingState> {
  const ring = await api.keys.state()
  const { file } = api.keys.keys
  if (api.keys.ids()[0] === ring.active) {
    const older = olderIds(api, ring)
    if (ring.older.length > 0 || (file === null ? await areNeeded(api, older) : older.length > 0)) return ring
    if (file === null) throw new ProblemError('key_rotation_blocked', noNewKey(api, ring))
    file.add(api.randomBytes(KEY_BYTES))
  }
  const [active = ''] = api.keys.ids()
  if (ring.older.includes(active)) throw new ProblemError('key_rotation_blocked', wrongOrder(active, ring.active))
  const without = replicasWithout(ring, active, api.clock)
  if (without.length > 0) throw new ProblemError('key_rotation_blocked', notEverywhere(active, without))
  const next: KeyRingState = {
    ...ring,
    version: ring.version + 1,
    active,
    older: [...new Set([...ring.older, ring.active])].filter(id => id !== active),
  }
  const change = { before: { active_key: ring.active }, after: { active_key: active } }
  const entry = auditEntry(actor, 'rotate-key', toInstant(api.clock.now()), change)
  return (await api.keyRings.replace(next, [entry])).ok ? next : activateNewest(api, actor)
}

/** Whether texts are sealed with one of the keys. A lost key that was put back has some, and no rotation knows of it. */
async function areNeeded({ secrets, saves, idempotentRequests }: Api, keys: readonly string[]): Promise<boolean> {
  for (const key of keys)
    for (const collection of [secrets, saves, idempotentRequests])
      if ((await collection.list({ where: { key }, limit: 1 })).length > 0) return true
  return false
}

function noNewKey(api: Api, { active }: KeyRingState): string {
  const rest = api.keys.ids().filter(id => id !== active)
  const removable = rest.length === 0 ? '' : ` Keys that can be removed: ${rest.join(', ')}.`
  return (
    `LCM_SECRET_KEY has no new key in front of ${active}. Put one there, followed by a comma (openssl rand -hex 32), ` +
    `restart every API replica, and run this command again.${removable}`
  )
}

const AGAIN = 'Give every replica the same LCM_SECRET_KEY, restart it, and run this command again'

const wrongOrder = (first: string, active: string): string =>
  `This replica has the older key ${first} in front of ${active}. ${AGAIN}`

const notEverywhere = (key: string, replicas: readonly string[]): string =>
  `${replicas.length} API ${replicas.length === 1 ? 'replica does' : 'replicas do'} not have the key ${key} yet. ` +
  `${AGAIN}. A replica that was killed counts for 90 s`

/**
 * Every answer that is stored from now on is sealed with the active key: a writer that sealed earlier fails on the version and
 * seals again.
 */
async function rewriteOpenRequests(api: Api): Promise<void> {
  for await (const request of pages(api.idempotentRequests, UNANSWERED))
    await api.idempotentRequests.replace({ ...request, version: request.version + 1 })
}

async function* pages<T extends Document>(collection: Collection<T>, key: string): AsyncGenerator<T> {
  let after = ''
  for (;;) {
    const page = await collection.list({ where: { key }, after, limit: PAGE })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return
    after = last.id
  }
}

/** A collection with one sealed text per document. Its documents have the facet `key`. */
interface SealedCollection<T extends Document> {
  readonly collection: Collection<T>
  textOf(document: T): string | null
  withText(document: T, sealed: string): T
}

/** Every collection with sealed texts. One that is missing here loses its texts at the next rotation. */
const sealedCollections = (api: Api) =>
  [
    reseal(api, {
      collection: api.secrets,
      textOf: (secret: Secret) => secret.sealed,
      withText: (secret, sealed) => ({ ...secret, sealed }),
    }),
    // Their content stays as it is: only the keys of the saves are sealed again.
    reseal(api, {
      collection: api.saves,
      textOf: (save: StoredSave) => save.sealed_key,
      withText: (save, sealed_key) => ({ ...save, sealed_key }),
    }),
    reseal(api, {
      collection: api.idempotentRequests,
      textOf: ({ answer }: IdempotentRequest) => answer?.sealed_body ?? null,
      withText: (request, sealed_body) =>
        request.answer === null ? request : { ...request, answer: { ...request.answer, sealed_body } },
    }),
  ] as const

interface Resealed {
  readonly resealed: number
  /** Whether no text is left that is sealed with one of the keys. Texts that no key opens are lost and don't count. */
  readonly isComplete: boolean
}

/** Open requests are rewritten last, because there may be many; those that were answered before are found after it. */
async function resealAll(api: Api, keys: readonly string[]): Promise<Resealed> {
  const first = await resealSome(api, keys)
  if (!first.isComplete) return first
  await rewriteOpenRequests(api)
  const { resealed, isComplete } = await resealSome(api, keys)
  return { resealed: first.resealed + resealed, isComplete }
}

async function resealSome(api: Api, keys: readonly string[]): Promise<Resealed> {
  let resealed = 0
  let isComplete = true
  for (const documents of sealedCollections(api))
    for (const key of keys)
      for await (const result of documents(key)) {
        if (result === 'stale') isComplete = false
        if (result === 'resealed') resealed += 1
        if (resealed >= BATCH) return { resealed, isComplete: false }
      }
  return { resealed, isComplete }
}

const reseal = <T extends Document>(api: Api, { collection, textOf, withText }: SealedCollection<T>) =>
  async function* (key: string): AsyncGenerator<'resealed' | 'stale' | 'lost'> {
    for await (const document of pages(collection, key)) {
      const sealed = textOf(document)
      const text = sealed === null ? null : await api.keys.openStored(async () => sealed, document.id)
      if (text === null) {
        yield 'lost'
        continue
      }
      const next = withText({ ...document, version: document.version + 1 }, await api.keys.seal(text, document.id))
      yield (await collection.replace(next)).ok ? 'resealed' : 'stale'
    }
  }

/** Ends the rotation: no text needs the older keys any more. */
async function retire(api: Api, active: string, older: readonly string[]): Promise<boolean> {
  const current = await api.keys.state()
  if (current.active !== active) return false
  const next = { ...current, version: current.version + 1, older: [] }
  if (current.older.length > 0 && !(await api.keyRings.replace(next)).ok) return false
  api.keys.keys.file?.remove(older)
  return true
}
