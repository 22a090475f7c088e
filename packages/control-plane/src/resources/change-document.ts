import { ProblemError } from '@lcm/contract/problems'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Collection, Document, NewEntry } from '@lcm/store/store'

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
