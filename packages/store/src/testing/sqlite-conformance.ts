import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeConformance } from '../conformance.ts'
import { migrate, openSqliteFile } from '../sqlite/database-file.ts'
import { sqliteStore } from '../sqlite/store.ts'
import type { StoreSchema } from '../store.ts'
import { crashableSqlite } from './crashable-sqlite.ts'

/** The cases of every store adapter, on SQLite files. `gather` delays a commit, so that others can share it. */
export function sqliteConformance(title: string, gather: (commit: () => void) => void): void {
  const open = async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')
    const opened = new Set<() => void>()
    const openRaw = (schema?: StoreSchema) => {
      const db = openSqliteFile(path, schema)
      opened.add(() => {
        if (!db.isOpen) return
        if (db.isTransaction) db.exec('ROLLBACK')
        db.close()
      })
      return db
    }
    return {
      store: sqliteStore(openRaw(), { gather }),
      reopen: async (schema?: StoreSchema) => {
        for (const close of opened) close()
        return sqliteStore(openRaw(schema), { gather })
      },
      async crashUpgrade(schema: StoreSchema, call: number, when: 'before' | 'after') {
        for (const close of opened) close()
        const { db, arm, calls } = crashableSqlite(openRaw())
        arm(call, when)
        try {
          migrate(db, schema)
        } catch {
          return false
        } finally {
          for (const close of opened) close()
        }
        return calls() < call
      },
      crashable: async () => {
        for (const close of opened) close()
        const { db, ...rest } = crashableSqlite(openRaw())
        return { store: sqliteStore(db, { gather }), ...rest }
      },
    }
  }
  storeConformance(title, open, { feed: true })
}
