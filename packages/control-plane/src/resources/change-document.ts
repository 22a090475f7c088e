import { ProblemError } from '@lcm/contract/problems'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Document, NewEntry, Query } from '@lcm/store/store'
import type { ApiParts } from '../http/api-dependencies.ts'

/** Crockford's alphabet: sorts like the numbers and has no letters that are easily confused. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** 2020-01-01: eight characters of milliseconds from here reach past 2054. */
const ORIGIN_MS = 1_577_836_800_000
const TIME_CHARS = 8
export const ID_RANDOM_BYTES = 5

export type IdPrefix = 'w' | 'wt' | 'ld' | 'ls' | 'lr' | 'tk' | 'll'

/** `w-` + eight characters of time + five of chance: short, and sorted by creation. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  const chance = Array.from(random.subarray(0, ID_RANDOM_BYTES), byte => ALPHABET[byte % 32]).join('')
  return `${prefix}-${base32(nowMs - ORIGIN_MS, TIME_CHARS)}${chance}`
}

function base32(value: number, chars: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < chars; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

export const newId = ({ clock, randomBytes }: Pick<ApiParts, 'clock' | 'randomBytes'>, prefix: IdPrefix): string =>
  makeId(prefix, clock.now(), randomBytes(ID_RANDOM_BYTES))

/** Each lost race means that another writer won, so this many in a row is a defect. */
const RACES_MAX = 100

interface Resource extends Document {
  readonly updated_at: string
}

interface Target<T extends Document> {
  readonly collection: Collection<T>
  readonly id: string
  readonly noun: string
}

/** New document and its journal entries, for one commit. */
export interface DocumentChange<T> {
  readonly document: T
  readonly entries: readonly NewEntry[]
}

/**
 * Changes one document by compare-and-set. `change` gets the newest version and throws a problem to refuse; null writes
 * nothing. A caller that named a version never overwrites another. `now` is later than any earlier change of the document,
 * even when the clock of another process was ahead.
 */
export function changeDocument<T extends Resource>(
  target: Target<T>,
  clock: Clock,
  ifMatch: number | null,
  change: (current: T, now: Instant) => DocumentChange<T> | null,
): Promise<T> {
  return serialized(target, () => changed(target, clock, ifMatch, change))
}

/** Writers of one document in one process wait for each other; only writers of other processes can lose a race. */
const queues = new WeakMap<object, Map<string, Promise<unknown>>>()

async function serialized<T>(
  { collection, id }: { collection: object; id: string },
  work: () => Promise<T>,
): Promise<T> {
  const byId = queues.get(collection) ?? new Map<string, Promise<unknown>>()
  queues.set(collection, byId)
  const mine = (byId.get(id) ?? Promise.resolve()).then(work, work)
  byId.set(id, mine)
  try {
    return await mine
  } finally {
    if (byId.get(id) === mine) byId.delete(id)
  }
}

async function changed<T extends Resource>(
  target: Target<T>,
  clock: Clock,
  ifMatch: number | null,
  change: (current: T, now: Instant) => DocumentChange<T> | null,
): Promise<T> {
  for (let race = 0; race < RACES_MAX; race++) {
    const current = await target.collection.get(target.id)
    if (current === null) throw new ProblemError('not_found', `there is no ${target.noun} ${target.id}`)
    refuseStale(current, ifMatch)
    const now = toInstant(Math.max(clock.now(), toMs(current.updated_at) + 1))
    const wanted = change(current, now)
    if (wanted === null) return current
    const next = { ...wanted.document, version: current.version + 1, updated_at: now }
    const result = await target.collection.replace(next, wanted.entries)
    if (result.ok) return next
    if (result.reason === 'taken')
      throw new ProblemError('already_exists', `another ${target.noun} has that ${result.field}`)
  }
  throw new ProblemError('store_unavailable', `${target.noun} ${target.id} is written too often; try again`)
}

export function refuseStale(current: Document, ifMatch: number | null): void {
  if (ifMatch !== null && ifMatch !== current.version) {
    throw new ProblemError(
      'version_mismatch',
      `it is at version ${current.version} by now, not ${ifMatch}: read it again`,
    )
  }
}

/**
 * One page of a list. The position is read before the documents, so a client that follows events from it may see a change
 * twice but misses none. The cursor is the last id: it stays valid when documents are added or removed.
 */
export async function listPage<T extends Document>(
  { feed }: Pick<ApiParts, 'feed'>,
  collection: Collection<T>,
  page: { limit: number; cursor?: string | undefined },
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<{ items: T[]; next_cursor: string | null; revision: string }> {
  const revision = await feed.position()
  const after = page.cursor === undefined ? {} : { after: page.cursor }
  const found = await collection.list({ ...filter, ...after, limit: page.limit + 1 })
  const items = found.slice(0, page.limit)
  return { items, next_cursor: found.length > page.limit ? (items.at(-1)?.id ?? null) : null, revision }
}

const PAGE = 500

/** Every matching document, page by page. */
export async function listAll<T extends Document>(
  collection: Collection<T>,
  filter: Omit<Query, 'limit' | 'after'> = {},
): Promise<T[]> {
  const all: T[] = []
  let after = ''
  for (;;) {
    const page = await collection.list({ ...filter, after, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return all
    after = last.id
  }
}

/** Few documents are old, so a small page is enough. */
const OLD_PAGE = 100

/**
 * Every matching document created before then. Ids begin with their creation time, so the list ends at the first younger one.
 */
export async function listCreatedBefore<T extends Document & { readonly created_at: Instant }>(
  collection: Pick<Collection<T>, 'list'>,
  before: Instant,
  filter: Omit<Query, 'limit' | 'after'>,
): Promise<T[]> {
  const all: T[] = []
  let after = ''
  for (;;) {
    const page = await collection.list({ ...filter, after, limit: OLD_PAGE })
    const old = page.filter(each => each.created_at < before)
    all.push(...old)
    const last = page.at(-1)
    if (last === undefined || old.length < OLD_PAGE) return all
    after = last.id
  }
}
