import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { sqliteChangeFeed } from './sqlite-changes.ts'
import { openSqliteFile } from './sqlite-file.ts'
import {
  type Collection,
  type Document,
  type Kind,
  type Query,
  type Store,
  StoreError,
  type WriteResult,
} from './store.ts'

/** The embedded store: one file, one process. Calls finish before they return, so promises resolve without real waiting. */
export function openSqliteStore(path: string): Store {
  const db = openSqliteFile(path)
  const feed = sqliteChangeFeed(db)
  return {
    collection: kind => sqliteCollection(db, kind, feed.record),
    changes: feed,
    close: () => db.close(),
  }
}

type Record = (change: { kind: string; id: string; version: number; deleted: boolean }) => void

function sqliteCollection<T extends Document>(db: DatabaseSyncInstance, kind: Kind<T>, record: Record): Collection<T> {
  const sql = statements(db)
  const parse = (row: { body?: unknown }): T => kind.parse(JSON.parse(String(row.body)))

  /** The first field whose value another document has, or null. */
  function claimValues(document: T): string | null {
    for (const [field, read] of Object.entries(kind.unique ?? {})) {
      const value = read(document)
      if (value !== null && sql.claim.run(kind.name, field, value, document.id).changes === 0) return field
    }
    return null
  }

  /** Row, unique values and feed change together or not at all. */
  function write(document: T, change: { deleted: boolean; row: () => WriteResult }): WriteResult {
    const { id, version } = document
    return committed(db, () => {
      const written = change.row()
      if (!written.ok) return written
      sql.release.run(kind.name, id)
      const field = change.deleted ? null : claimValues(document)
      if (field !== null) return { ok: false, reason: 'taken', field }
      record({ kind: kind.name, id, version, deleted: change.deleted })
      return OK
    })
  }

  const unlessNone = (changes: number | bigint, refusal: WriteResult): WriteResult => (changes === 0 ? refusal : OK)
  return {
    async get(id) {
      const row = sql.get.get(kind.name, id)
      return row === undefined ? null : parse(row)
    },
    async list(query) {
      const { text, values } = listSql(query)
      return db
        .prepare(text)
        .all(kind.name, ...values)
        .map(parse)
    },
    async insert(document) {
      const { id, version } = document
      const insert = () => sql.insert.run(kind.name, id, version, JSON.stringify(document)).changes
      return write(document, { deleted: false, row: () => unlessNone(insert(), ID_TAKEN) })
    },
    async replace(document) {
      const { id, version } = document
      const replace = () => sql.replace.run(version, JSON.stringify(document), kind.name, id, version - 1).changes
      return write(document, { deleted: false, row: () => unlessNone(replace(), STALE) })
    },
    async remove(document) {
      const remove = () => sql.remove.run(kind.name, document.id, document.version).changes
      return write(document, { deleted: true, row: () => unlessNone(remove(), STALE) })
    },
  }
}

const statements = (db: DatabaseSyncInstance) => ({
  get: db.prepare('SELECT body FROM documents WHERE kind = ? AND id = ?'),
  insert: db.prepare('INSERT INTO documents (kind, id, version, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
  replace: db.prepare('UPDATE documents SET version = ?, body = ? WHERE kind = ? AND id = ? AND version = ?'),
  remove: db.prepare('DELETE FROM documents WHERE kind = ? AND id = ? AND version = ?'),
  claim: db.prepare('INSERT INTO unique_values (kind, field, value, id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'),
  release: db.prepare('DELETE FROM unique_values WHERE kind = ? AND id = ?'),
})

const OK: WriteResult = { ok: true }
const STALE: WriteResult = { ok: false, reason: 'stale' }
const ID_TAKEN: WriteResult = { ok: false, reason: 'taken', field: 'id' }

/** All or nothing: a result that is not ok leaves no trace. */
function committed(db: DatabaseSyncInstance, work: () => WriteResult): WriteResult {
  try {
    db.exec('BEGIN IMMEDIATE')
    const result = work()
    db.exec(result.ok ? 'COMMIT' : 'ROLLBACK')
    return result
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw new StoreError(`the store refused a write: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

function listSql(query: Query): { text: string; values: (string | number)[] } {
  const conditions = ['kind = ?']
  const values: (string | number)[] = []
  const add = (condition: string, ...bound: string[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  if (query.after !== undefined) add('id > ?', query.after)
  for (const [field, value] of Object.entries(query.where ?? {})) add('body ->> ? = ?', field, value)
  for (const [field, value] of Object.entries(query.whereNot ?? {})) add('body ->> ? IS NOT ?', field, value)
  for (const [field, value] of Object.entries(query.contains ?? {})) {
    add('instr(lower(body ->> ?), lower(?)) > 0', field, value)
  }
  values.push(query.limit)
  return { text: `SELECT body FROM documents WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ?`, values }
}
