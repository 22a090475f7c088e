import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError, type StoreSchema } from '../store.ts'
import { NO_UPGRADES, refuseNewer } from '../upgrade-one-document.ts'
import { documentSchema, upgradeDocuments } from './upgrade-documents.ts'

/** Marks LCM's files: a database of another program is never written to. */
export const APPLICATION_ID = 0x4c_43_4d_31
export const MAGIC = 'SQLite format 3\u0000'
/** A full check of a larger file would delay the start; SQLite still notices torn pages when it reads them. */
const CHECKED_BYTES_MAX = 64 * 1024 * 1024

const FIRST_SCHEMA = `
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

/** Migrations: the entry at index n leads from schema n to schema n + 1. */
const STEPS: readonly string[] = [
  FIRST_SCHEMA,
  `
  CREATE INDEX unique_values_of ON unique_values (kind, id);
  CREATE TABLE facets (
    kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (kind, name, value, id)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX facets_of ON facets (kind, id);
  CREATE TABLE faceted (kind TEXT PRIMARY KEY) WITHOUT ROWID, STRICT;
  ALTER TABLE changes ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX untold ON changes (seq) WHERE told = 0;
  CREATE TABLE journal (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, stream TEXT NOT NULL, subject TEXT NOT NULL,
    at TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_of_subject ON journal (subject, at, id);
  CREATE INDEX journal_of_stream ON journal (stream, at, id);
  CREATE TABLE samples (
    series TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (series, at)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX samples_by_age ON samples (at);
  UPDATE documents SET kind = 'service' WHERE kind = 'term';
  DELETE FROM changes WHERE kind IN ('term', 'token');
`,
  // Long rows are found faster by row id than inside a tree of their keys, and versions without reading a body. One
  // stream of a subject is read without scanning its others.
  `
  ALTER TABLE documents RENAME TO documents_by_key;
  CREATE TABLE documents (
    kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
  ) STRICT;
  INSERT INTO documents (kind, id, version, body) SELECT kind, id, version, body FROM documents_by_key;
  DROP TABLE documents_by_key;
  CREATE INDEX document_versions ON documents (kind, id, version);
  DROP INDEX journal_of_subject;
  CREATE INDEX journal_of_subject ON journal (subject, stream, at, id);
`,
  // Facets are rebuilt whenever the number of the documents' schema grows.
  `
  CREATE TABLE document_schema (number INTEGER NOT NULL) STRICT;
  INSERT INTO document_schema (number) VALUES (0);
  DROP TABLE faceted;
`,
  `
  CREATE TABLE blobs (id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID, STRICT;
  CREATE TABLE blob_chunks (
    id TEXT NOT NULL, sha256 TEXT NOT NULL, n INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (id, sha256, n)
  ) STRICT;
`,
]
/** Version of the tables. Documents have a schema number of their own. */
export const SCHEMA_VERSION = STEPS.length

/**
 * Opens or creates the file with durable commits, and upgrades the file of an earlier release, all or nothing. Refuses a torn,
 * foreign or newer file and leaves it unchanged.
 */
export function openSqliteFile(path: string, schema: StoreSchema = NO_UPGRADES): DatabaseSyncInstance {
  const fresh = path === ':memory:' || !existsSync(path) || statSync(path).size === 0
  if (!fresh) refuseForeignHeader(path)
  const mayLackChanges = existsSync(`${path}-wal`)
  try {
    const db = new DatabaseSync(path)
    // First of all, because the previous process may still be closing the file.
    db.exec('PRAGMA busy_timeout = 5000')
    if (!fresh) verify(db, path)
    refuseReadOnly(db, path)
    refuseNewer(documentSchema(db), schema, path)
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    migrate(db, schema)
    if (mayLackChanges) skipLostPositions(db)
    return db
  } catch (error) {
    throw error instanceof StoreError ? error : unusable(path, error)
  }
}

export function unusable(path: string, cause: unknown): StoreError {
  const hint = DISK_FULL.has(sqliteCodeOf(cause)) ? 'Free some disk space, then start again' : RESTORE_HINT
  return new StoreError(`${path} can't be used as a store: ${messageOf(cause)}. ${hint}`, { cause })
}

export const FULL = 13
/** SQLite couldn't grow the shared-memory index: how a full disk shows after a crash. */
const IOERR_SHMSIZE = 4874
const DISK_FULL: ReadonlySet<unknown> = new Set([FULL, IOERR_SHMSIZE])
export const sqliteCodeOf = (error: unknown): unknown =>
  error instanceof Error && 'sqliteCode' in error ? error.sqliteCode : undefined

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

/** SQLite opens a read-only file without an error, and would refuse every write for as long as the connection lives. */
export function refuseReadOnly(db: DatabaseSyncInstance, path: string): void {
  try {
    db.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${pragma(db, 'user_version')}; ROLLBACK`)
  } catch (cause) {
    if (!/readonly/.test(messageOf(cause))) throw cause
    throw new StoreError(`${path} is read-only. Make the file, its folder and its disk writable`, { cause })
  }
}

/** Upper bound on changes since the last durable write: a loss of power undoes them. */
const SEQ_UNDURABLE_MAX = 10_000

/** For a store that was not closed: no position of a change that the loss of power undid is given to another change. */
const skipLostPositions = (db: DatabaseSyncInstance): void =>
  db.exec(`UPDATE sqlite_sequence SET seq = seq + ${SEQ_UNDURABLE_MAX} WHERE name = 'changes'`)

/** Runs the missing migrations and upgrades, all or nothing. */
export function migrate(db: DatabaseSyncInstance, schema: StoreSchema): void {
  const marks = `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`
  db.exec('BEGIN IMMEDIATE')
  try {
    // Read under the lock: another process may have migrated the file while this one waited.
    const from = pragma(db, 'user_version')
    if (from < SCHEMA_VERSION) db.exec(`${STEPS.slice(from).join('')} ${marks}`)
    upgradeDocuments(db, schema)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function verify(db: DatabaseSyncInstance, path: string): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) {
    throw new StoreError(`${path} belongs to another program. Choose another folder with --data`)
  }
  const version = pragma(db, 'user_version')
  if (version > SCHEMA_VERSION) {
    throw new StoreError(
      `${path} was written by a newer LCM (schema ${version}, this one reads up to ${SCHEMA_VERSION}). Use that version`,
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
