import { DatabaseSync } from '@photostructure/sqlite'

/** Rows of a store file as they are, without opening it as a store. */
export function sqliteRows(file: string, sql: string, ...values: string[]): Record<string, unknown>[] {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return db.prepare(sql).all(...values)
  } finally {
    db.close()
  }
}
