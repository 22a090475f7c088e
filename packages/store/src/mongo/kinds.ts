import type { Collection, Db, IndexDescription } from 'mongodb'
import type { Document, Kind } from '../store.ts'
import { type StoredDocument, UNIQUE_PATH } from './stored.ts'

export interface KnownKind {
  readonly name: string
  readonly announced: boolean
  /** Resolves when the indexes are there. */
  documents(): Promise<Collection<StoredDocument>>
}

/** The kinds that this process has asked for: what is settled, told and searched for waiting entries. */
export interface Kinds {
  add<T extends Document>(kind: Kind<T>): KnownKind
  get(name: string): KnownKind | undefined
  all(): readonly KnownKind[]
}

export function mongoKinds(db: Db): Kinds {
  const known = new Map<string, KnownKind>()
  return {
    add(kind) {
      const { name, announced } = kind
      const found = known.get(name)
      if (found) return found
      const indexes = indexesOf(Object.keys(kind.unique ?? {}))
      const added = { name, announced, documents: indexed<StoredDocument>(db, name, indexes) }
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
 * Creates the indexes before the first use. Asking for indexes that are there already changes nothing, so any number of
 * processes may do so at the same time. What failed is tried again by the next use.
 */
export function indexed<T extends { _id: string }>(
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
