import { backup, type DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Store, StoreSchema } from '../store.ts'
import { sqliteBlobs } from './blobs.ts'
import { sqliteChanges } from './change-feed.ts'
import { sqliteCollection, statementCache } from './collection.ts'
import { openSqliteFile } from './database-file.ts'
import { groupCommit } from './group-commit.ts'
import { sqliteJournal } from './journal.ts'
import { sqliteSeries } from './series.ts'

export interface SqliteOptions {
  /** Delays a commit, so that more writes can share it. Defaults to a microtask. */
  readonly gather?: (flush: () => void) => void
}

/** The embedded store: one file, one process. With a schema, it upgrades the file of an earlier release. */
export const openSqliteStore = (
  path: string,
  { schema, ...options }: SqliteOptions & { schema?: StoreSchema } = {},
): Store => sqliteStore(openSqliteFile(path, schema), options)

export function sqliteStore(db: DatabaseSyncInstance, { gather = queueMicrotask }: SqliteOptions = {}): Store {
  const batch = groupCommit(db, gather)
  const prepared = statementCache(db)
  const changes = sqliteChanges(db, batch)
  const journal = sqliteJournal(db, batch)
  const hooks = { record: changes.record, enter: journal.enter }
  const copies = new Set<Promise<unknown>>()
  return {
    collection: kind => sqliteCollection(kind, { batch, hooks, prepared }),
    journal,
    series: sqliteSeries(db, batch),
    blobs: sqliteBlobs(db, batch),
    announcements: changes.announcements,
    changes: changes.feed,
    flushOutbox: async () => 0,
    async backup(file) {
      const copy = backup(db, file)
      copies.add(copy)
      await copy.finally(() => copies.delete(copy))
    },
    async close() {
      // A copy reads in its own thread: closing the database under it would crash the process.
      if (copies.size > 0) await Promise.allSettled(copies)
      db.close()
    },
  }
}
