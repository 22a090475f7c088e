import type { DatabaseSyncInstance, StatementSyncInstance } from '@photostructure/sqlite'

export type Prepared = (text: string) => StatementSyncInstance

/** Keeps every statement that it was asked for, so their texts must be few: values are bound, never written into them. */
export function preparedOnce(db: DatabaseSyncInstance): Prepared {
  const statements = new Map<string, StatementSyncInstance>()
  return text => {
    const known = statements.get(text)
    if (known) return known
    const statement = db.prepare(text)
    statements.set(text, statement)
    return statement
  }
}
