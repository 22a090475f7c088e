import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from './store.ts'

/** Marks our files: a database of another program is never written to. */
const APPLICATION_ID = 0x4c_43_4d_31
const SCHEMA_VERSION = 1
const MAGIC = 'SQLite format 3\u0000'
/** A full check of a larger file would hold up the start; SQLite still notices torn pages when it reads them. */
const CHECKED_BYTES_MAX = 64 * 1024 * 1024

const SCHEMA = `
  CREATE TABLE documents (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE unique_values (
    kind TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (kind, field, value)
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL,
    version INTEGER NOT NULL, deleted INTEGER NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX tombstones ON changes (seq) WHERE deleted = 1;
  CREATE TABLE forgotten (seq INTEGER NOT NULL) STRICT;
  INSERT INTO forgotten (seq) VALUES (0);
`

/** Opens or creates the file with durable commits. A torn or foreign file is refused and left as it is. */
export function openSqliteFile(path: string): DatabaseSyncInstance {
  const fresh = path === ':memory:' || !existsSync(path) || statSync(path).size === 0
  if (!fresh) refuseForeignHeader(path)
  try {
    const db = new DatabaseSync(path)
    if (!fresh) verify(db, path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
    if (fresh) create(db)
    return db
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError(`${path} can not be used as a store: ${messageOf(error)}. ${RESTORE_HINT}`, { cause: error })
  }
}

const RESTORE_HINT = 'Restore it from a backup, or start with another --data folder'
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function refuseForeignHeader(path: string): void {
  const header = Buffer.alloc(MAGIC.length)
  const file = openSync(path, 'r')
  try {
    readSync(file, header, 0, header.length, 0)
  } finally {
    closeSync(file)
  }
  if (header.toString('latin1') !== MAGIC)
    throw new StoreError(`${path} is not an LCM store, or is damaged. ${RESTORE_HINT}`)
}

function create(db: DatabaseSyncInstance): void {
  db.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`)
}

function verify(db: DatabaseSyncInstance, path: string): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) {
    throw new StoreError(`${path} belongs to another program. Name another folder with --data`)
  }
  const version = pragma(db, 'user_version')
  if (version !== SCHEMA_VERSION) {
    throw new StoreError(
      `${path} was written by another version of LCM (schema ${version}, this one reads ${SCHEMA_VERSION})`,
    )
  }
  if (statSync(path).size > CHECKED_BYTES_MAX) return
  const found = db.prepare('PRAGMA quick_check(1)').get()
  const verdict = found === undefined ? 'no answer' : String(Object.values(found)[0])
  if (verdict !== 'ok') throw new StoreError(`${path} is damaged: ${verdict}. ${RESTORE_HINT}`)
}

function pragma(db: DatabaseSyncInstance, name: string): number {
  const row = db.prepare(`PRAGMA ${name}`).get()
  return row === undefined ? 0 : Number(Object.values(row)[0])
}
