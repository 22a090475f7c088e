import type { Document, Kind, Query } from '../store.ts'
import { documentCache } from './document-cache.ts'
import type { StatementCache } from './statement-cache.ts'

export interface DocumentReader<T> {
  get(id: string): T | null
  list(query: Query): T[]
}

/**
 * Returned documents are shared: callers must not modify them. They are not parsed again: every document has the current schema
 * from the moment the store is open.
 */
export function documentReader<T extends Document>(prepared: StatementCache, kind: Kind<T>): DocumentReader<T> {
  // A version identifies a document only where ids are never reused.
  return kind.announced ? cachingReader(kind, prepared) : plainReader(kind, prepared)
}

function plainReader<T extends Document>(kind: Kind<T>, prepared: StatementCache): DocumentReader<T> {
  const body = prepared('SELECT body FROM documents WHERE kind = ? AND id = ?')
  const parse = (row: Record<string, unknown>): T => JSON.parse(String(row.body))
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

/** Reads versions first, and bodies only of documents whose cached version differs. */
function cachingReader<T extends Document>(kind: Kind<T>, prepared: StatementCache): DocumentReader<T> {
  const cache = documentCache<T>()
  const newer = prepared(
    'SELECT version, CASE version WHEN ? THEN NULL ELSE body END AS body FROM documents WHERE kind = ? AND id = ?',
  )

  function get(id: string): T | null {
    const row = newer.get(cache.versionOf(id), kind.name, id)
    if (row === undefined) return null
    const known = cache.get(id, Number(row.version))
    return known ?? remember(String(row.body))
  }

  function remember(body: string): T {
    const document: T = JSON.parse(body)
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

/** SQLite chooses whether to look up facets by value or by id. */
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
