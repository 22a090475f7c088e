import { backup, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { batching } from './sqlite/batch.ts'
import { sqliteChanges } from './sqlite/changes.ts'
import { sqliteCollection } from './sqlite/collection.ts'
import { openSqliteFile } from './sqlite/file.ts'
import { sqliteJournal } from './sqlite/journal.ts'
import { sqliteSeries } from './sqlite/series.ts'
import type { Store } from './store.ts'

export interface SqliteOptions {
  /** How long a write waits for others to share its commit. Without one it waits for nothing real. */
  readonly gather?: (flush: () => void) => void
}

/** The embedded store: one file, one process. */
export const openSqliteStore = (path: string, options: SqliteOptions = {}): Store =>
  sqliteStore(openSqliteFile(path), options)

export function sqliteStore(db: DatabaseSyncInstance, { gather = queueMicrotask }: SqliteOptions = {}): Store {
  const batch = batching(db, gather)
  const changes = sqliteChanges(db, batch)
  const journal = sqliteJournal(db, batch)
  const hooks = { record: changes.record, enter: journal.enter }
  const copies = new Set<Promise<unknown>>()
  return {
    collection: kind => sqliteCollection(db, kind, { batch, hooks }),
    journal,
    series: sqliteSeries(db, batch),
    announcements: changes.announcements,
    changes: changes.feed,
    settle: async () => 0,
    async backup(file) {
      const copy = backup(db, file)
      copies.add(copy)
      await copy.finally(() => copies.delete(copy))
    },
    async close() {
      // A copy reads in a thread of its own: a database that is closed under it would crash the process.
      if (copies.size > 0) await Promise.allSettled(copies)
      db.close()
    },
  }
}
