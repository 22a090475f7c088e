import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Document, Kind, Query } from '../store.ts'
import { documentCache } from './document-cache.ts'
import { type Prepared, preparedOnce } from './prepared-once.ts'

export interface DocumentReader<T> {
  get(id: string): T | null
  list(query: Query): T[]
}

/** Reads documents. Whoever gets one must not change it: others may be given the same. */
export function documentReader<T extends Document>(db: DatabaseSyncInstance, kind: Kind<T>): DocumentReader<T> {
  const prepared = preparedOnce(db)
  // Only where no id is used twice does a version say which document it is.
  return kind.announced ? rememberingReader(db, kind, prepared) : plainReader(db, kind, prepared)
}

function plainReader<T extends Document>(
  db: DatabaseSyncInstance,
  kind: Kind<T>,
  prepared: Prepared,
): DocumentReader<T> {
  const body = db.prepare('SELECT body FROM documents WHERE kind = ? AND id = ?')
  const parse = (row: Record<string, unknown>): T => kind.parse(JSON.parse(String(row.body)))
  return {
    get(id) {
      const row = body.get(kind.name, id)
      return row === undefined ? null : parse(row)
    },
    list(query) {
      const { text, values } = listSql('body', kind.name, query)
      return prepared(text)
        .all(...values)
        .map(parse)
    },
  }
}

/** Asks for versions first, and for bodies only where it knows another version. */
function rememberingReader<T extends Document>(
  db: DatabaseSyncInstance,
  kind: Kind<T>,
  prepared: Prepared,
): DocumentReader<T> {
  const cache = documentCache<T>()
  const newer = db.prepare(
    'SELECT version, CASE version WHEN ? THEN NULL ELSE body END AS body FROM documents WHERE kind = ? AND id = ?',
  )

  function get(id: string): T | null {
    const row = newer.get(cache.versionOf(id), kind.name, id)
    if (row === undefined) return null
    const known = cache.get(id, Number(row.version))
    return known ?? remember(String(row.body))
  }

  function remember(body: string): T {
    const document = kind.parse(JSON.parse(body))
    cache.put(document, body.length)
    return document
  }

  return {
    get,
    list(query) {
      const { text, values } = listSql('id, version', kind.name, query)
      return prepared(text)
        .all(...values)
        .flatMap(row => cache.get(String(row.id), Number(row.version)) ?? get(String(row.id)) ?? [])
    },
  }
}

const FACET = 'SELECT id FROM facets WHERE kind = ? AND name = ?'

/** Filters are looked up by value or by id, whichever is less: SQLite chooses. */
function listSql(what: string, kind: string, query: Query): { text: string; values: (string | number)[] } {
  const conditions = ['kind = ?']
  const values: (string | number)[] = [kind]
  const add = (condition: string, ...bound: string[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  if (query.after !== undefined) add('id > ?', query.after)
  for (const [name, value] of Object.entries(query.where ?? {}))
    add(`id IN (${FACET} AND value = ?)`, kind, name, value)
  for (const [name, value] of Object.entries(query.whereNot ?? {})) {
    add(`NOT EXISTS (${FACET} AND value = ? AND id = documents.id)`, kind, name, value)
  }
  for (const [name, value] of Object.entries(query.contains ?? {})) {
    add(`id IN (${FACET} AND instr(lower(value), lower(?)) > 0)`, kind, name, value)
  }
  values.push(query.limit)
  return { text: `SELECT ${what} FROM documents WHERE ${conditions.join(' AND ')} ORDER BY id LIMIT ?`, values }
}
