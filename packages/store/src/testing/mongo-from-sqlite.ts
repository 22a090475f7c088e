import { MongoClient } from 'mongodb'
import { facetsOf } from '../mongo/facet-filter.ts'
import type { StoredDocument, StoredJournalEntry } from '../mongo/stored-records.ts'
import { sqliteRows } from './sqlite-rows.ts'

interface Location {
  readonly uri: string
  readonly database: string
}

/** Writes the documents and the journal of a store file to MongoDB, as 0.1.0 would have done: without a schema number. */
export async function mongoFromSqlite(file: string, { uri, database }: Location): Promise<void> {
  const client = new MongoClient(uri)
  try {
    const db = client.db(database)
    const indexed = (table: string, name: string, kind: string, id: string): Record<string, string> => {
      const rows = sqliteRows(file, `SELECT ${name} AS name, value FROM ${table} WHERE kind = ? AND id = ?`, kind, id)
      return Object.fromEntries(rows.map(row => [String(row.name), String(row.value)]))
    }
    for (const row of sqliteRows(file, 'SELECT kind, id, version, body FROM documents')) {
      const [kind, id] = [String(row.kind), String(row.id)]
      const unique = indexed('unique_values', 'field', kind, id)
      await db.collection<StoredDocument>(kind).insertOne({
        _id: id,
        version: Number(row.version),
        body: String(row.body),
        facets: facetsOf(indexed('facets', 'name', kind, id)),
        ...(Object.keys(unique).length === 0 ? {} : { unique }),
      })
    }
    for (const { id, stream, subject, at, body } of sqliteRows(
      file,
      'SELECT id, stream, subject, at, body FROM journal',
    ))
      await db.collection<StoredJournalEntry>('journal').insertOne({
        ...{ _id: String(id), stream: String(stream), subject: String(subject) },
        ...{ at: String(at), body: String(body) },
      })
  } finally {
    await client.close()
  }
}
