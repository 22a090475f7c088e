import { backup, DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'

/** One stored record. `value` is JSON text; null removes the record. */
export interface SimChange {
  readonly kind: string
  readonly key: string
  readonly value: string | null
}

export interface SimRecord extends SimChange {
  readonly value: string
}

/** Storage of a simulated cloud. */
export interface SimStore {
  load(): readonly SimRecord[]
  /** The last committed value of a record, or null. */
  read(kind: string, key: string): string | null
  /** Atomic. When it returns, the changes survive a crash of the process and of the machine. */
  commit(changes: readonly SimChange[]): void
  close(): void
}

export interface SimFile extends SimStore {
  /** Writes a consistent copy to a new file while the store is in use. It must finish before the store is closed. */
  backup(file: string): Promise<void>
}

export class SimStoreError extends Error {
  override readonly name = 'SimStoreError'
}

export function memorySimStore(): SimStore {
  const records = new Map<string, SimRecord>()
  return {
    load: () => [...records.values()],
    read: (kind, key) => records.get(`${kind} ${key}`)?.value ?? null,
    commit(changes) {
      for (const { kind, key, value } of changes) {
        const at = `${kind} ${key}`
        if (value === null) records.delete(at)
        else records.set(at, { kind, key, value })
      }
    },
    close: () => undefined,
  }
}

/** "LCMS": distinguishes our files from other SQLite files. */
const APPLICATION_ID = 0x4c434d53
const FORMAT = 1

/** Opens or creates the file. Only one process may hold it, since the model caches the state in memory. */
export function sqliteSimStore(path: string): SimFile {
  const database = openDatabase(path)
  const put = database.prepare('INSERT OR REPLACE INTO record (kind, key, value) VALUES (?, ?, ?)')
  const remove = database.prepare('DELETE FROM record WHERE kind = ? AND key = ?')
  const value = database.prepare('SELECT value FROM record WHERE kind = ? AND key = ?')
  return {
    load() {
      try {
        return database.prepare('SELECT kind, key, value FROM record').all().map(recordOf)
      } catch (error) {
        throw new SimStoreError(`${path} is damaged: ${reasonOf(error)}`, { cause: error })
      }
    },
    read(kind, key) {
      const row = value.get(kind, key)
      return row === undefined ? null : String(row.value)
    },
    commit(changes) {
      try {
        transaction(database, () => {
          for (const { kind, key, value } of changes) {
            if (value === null) remove.run(kind, key)
            else put.run(kind, key, value)
          }
        })
      } catch (error) {
        throw new SimStoreError(`${path} can't be written: ${reasonOf(error)}. Fix the cause and start again`, {
          cause: error,
        })
      }
    },
    async backup(file) {
      await backup(database, file)
    },
    close: () => released(database),
  }
}

function openDatabase(path: string): DatabaseSyncInstance {
  const refused = (error: unknown) =>
    new SimStoreError(`${path} can't be opened as a simulated cloud: ${reasonOf(error)}`, { cause: error })
  let database: DatabaseSyncInstance
  try {
    database = new DatabaseSync(path)
  } catch (error) {
    throw refused(error)
  }
  try {
    prepareFile(database, path)
    return database
  } catch (error) {
    abandoned(database)
    throw error instanceof SimStoreError ? error : refused(error)
  }
}

/** Releases the lock on a file, if it could be read at all. */
function abandoned(database: DatabaseSyncInstance): void {
  try {
    database.exec('PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_master')
  } catch {
    // The file was never locked, or the lock ends with the process.
  }
  database.close()
}

/** The exclusive lock is taken before the file is checked, so that two processes can't both create it. */
function prepareFile(database: DatabaseSyncInstance, path: string): void {
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL')
  transaction(database, () => {
    if (pragma(database, 'application_id') !== APPLICATION_ID) createFormat(database, path)
    else if (pragma(database, 'user_version') !== FORMAT) {
      throw new SimStoreError(`${path} was written by another version of LCM: move or delete it and start again`)
    }
  })
  database.exec('PRAGMA journal_mode = WAL')
}

/**
 * Closing alone doesn't release the exclusive lock while prepared statements await garbage collection, and WAL mode
 * never releases it. Leaving WAL also makes a closed store one plain file.
 */
function released(database: DatabaseSyncInstance): void {
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch {
    // For example a full disk: all commits are in the WAL, which the next open reads.
  }
  abandoned(database)
}

function createFormat(database: DatabaseSyncInstance, path: string): void {
  const tables = database.prepare('SELECT count(*) AS count FROM sqlite_master').get()
  if (tables.count !== 0) throw new SimStoreError(`${path} is the database of another program, not a simulated cloud`)
  database.exec(`
    CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
    PRAGMA application_id = ${APPLICATION_ID};
    PRAGMA user_version = ${FORMAT};
  `)
}

function pragma(database: DatabaseSyncInstance, name: 'application_id' | 'user_version'): unknown {
  return database.prepare(`PRAGMA ${name}`).get()[name]
}

function transaction(database: DatabaseSyncInstance, run: () => void): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    run()
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

const recordOf = (row: Record<string, unknown>): SimRecord => ({
  kind: String(row.kind),
  key: String(row.key),
  value: String(row.value),
})

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
