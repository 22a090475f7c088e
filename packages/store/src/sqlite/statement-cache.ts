import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'

export type StatementCache = (text: string) => StatementSyncInstance

/** Caches every statement forever, so bind values instead of writing them into the SQL. */
export function statementCache(db: DatabaseSyncInstance): StatementCache {
  const statements = new Map<string, StatementSyncInstance>()
  return text => {
    const known = statements.get(text)
    if (known) return known
    const statement = db.prepare(text)
    statements.set(text, statement)
    return statement
  }
}
