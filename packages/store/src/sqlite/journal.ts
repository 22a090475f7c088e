import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import type { Change, Journal, JournalEntry, JournalQuery, NewEntry } from '../store.ts'
import { type StatementCache, statementCache } from './collection.ts'
import type { GroupCommit } from './group-commit.ts'

export interface SqliteJournal extends Journal {
  /** Called inside the transaction that makes the change. */
  enter(change: Change, entries: readonly NewEntry[]): void
}

export function sqliteJournal(db: DatabaseSyncInstance, batch: GroupCommit): SqliteJournal {
  const insert = db.prepare(
    'INSERT INTO journal (id, stream, subject, at, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const prepared = statementCache(db)
  const put = ({ id, stream, subject, at, body }: JournalEntry) =>
    insert.run(id, stream, subject, at, JSON.stringify(body))
  return {
    enter({ kind, id, version }, entries) {
      for (const [n, entry] of entries.entries())
        put({ ...entry, id: `${kind}:${id}:${version}:${n}`, subject: `${kind}:${id}` })
    },
    async append(entries) {
      if (entries.length > 0) await batch.commit(() => entries.forEach(put))
    },
    async query(query) {
      const found = query.streams.flatMap(stream => entriesOf(prepared, stream, query))
      return found.sort(newestFirst).slice(0, query.limit)
    },
    prune: (stream, before, limit) =>
      batch.commit(() => {
        const old = 'SELECT seq FROM journal WHERE stream = ? AND at < ? ORDER BY at LIMIT ?'
        return Number(prepared(`DELETE FROM journal WHERE seq IN (${old})`).run(stream, before, limit).changes)
      }),
  }
}

const newestFirst = (a: JournalEntry, b: JournalEntry): number =>
  a.at === b.at ? (a.id < b.id ? 1 : -1) : a.at < b.at ? 1 : -1

/** One stream at a time, so that an index gives the order and nothing has to be sorted. */
function entriesOf(prepared: StatementCache, stream: string, query: JournalQuery): JournalEntry[] {
  const conditions = ['stream = ?']
  const values: (string | number)[] = [stream]
  const add = (condition: string, ...bound: string[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  if (query.subject !== undefined) add('subject = ?', query.subject)
  if (query.from !== undefined) add('at >= ?', query.from)
  if (query.to !== undefined) add('at < ?', query.to)
  if (query.after !== undefined) add('(at, id) < (?, ?)', query.after.at, query.after.id)
  const index = query.subject === undefined ? 'journal_of_stream' : 'journal_of_subject'
  const text = `SELECT id, stream, subject, at, body FROM journal INDEXED BY ${index}
    WHERE ${conditions.join(' AND ')} ORDER BY at DESC, id DESC LIMIT ?`
  return prepared(text)
    .all(...values, query.limit)
    .map(toEntry)
}

const toEntry = (row: Record<string, unknown>): JournalEntry => ({
  id: String(row.id),
  stream: String(row.stream),
  subject: String(row.subject),
  at: String(row.at),
  body: JSON.parse(String(row.body)),
})
