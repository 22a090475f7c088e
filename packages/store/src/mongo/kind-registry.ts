import type { Collection, Db, IndexDescription } from 'mongodb'
import type { AnyKind } from '../store.ts'
import { type StoredDocument, UNIQUE_PATH } from './stored-records.ts'

export interface RegisteredKind {
  readonly name: string
  readonly announced: boolean
  /** Resolves when the indexes exist. */
  documents(): Promise<Collection<StoredDocument>>
}

/** Kinds that this process uses: their outboxes are flushed and their changes published. */
export interface KindRegistry {
  add(kind: AnyKind): RegisteredKind
  get(name: string): RegisteredKind | undefined
  all(): readonly RegisteredKind[]
}

export function kindRegistry(db: Db): KindRegistry {
  const known = new Map<string, RegisteredKind>()
  return {
    add(kind) {
      const { name, announced } = kind
      const found = known.get(name)
      if (found) return found
      const indexes = indexesOf(Object.keys(kind.unique ?? {}))
      const added = { name, announced, documents: indexedCollection<StoredDocument>(db, name, indexes) }
      known.set(name, added)
      return added
    },
    get: name => known.get(name),
    all: () => [...known.values()],
  }
}

function indexesOf(uniqueFields: readonly string[]): IndexDescription[] {
  return [
    { name: 'facets', key: { facets: 1, _id: 1 } },
    { name: 'outbox', key: { 'outbox.id': 1 }, sparse: true },
    { name: 'announce', key: { announce: 1 }, sparse: true },
    { name: 'deleted', key: { deleted: 1 }, sparse: true },
    ...uniqueFields.map(field => {
      const path = `${UNIQUE_PATH}${field}`
      return { name: path, key: { [path]: 1 }, unique: true, sparse: true }
    }),
  ]
}

/**
 * Creates the indexes before the first use. Creating existing indexes changes nothing, so any number of processes may
 * do so at the same time. The next use retries after a failure.
 */
export function indexedCollection<T extends { _id: string }>(
  db: Db,
  name: string,
  indexes: IndexDescription[],
): () => Promise<Collection<T>> {
  const collection = db.collection<T>(name)
  let creating: Promise<unknown> | null = null
  return async () => {
    creating ??= collection.createIndexes(indexes).catch(error => {
      creating = null
      throw error
    })
    await creating
    return collection
  }
}
