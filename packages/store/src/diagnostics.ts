import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { connectMongo } from './mongo/store.ts'

export interface StoreCheck {
  /** Host or file, without a password. */
  readonly location: string
  readonly problem: string | null
  /** False when only the header was read because the file is large. */
  readonly isComplete: boolean
}

/** A full check of a larger file would take too long. */
const CHECKED_BYTES_MAX = 256 * 1024 * 1024

/** Opens a store file read-only and checks it. Another process may use it meanwhile. */
export function checkSqlite(file: string): StoreCheck {
  const place = `sqlite:${file}`
  if (!existsSync(file)) return { location: place, problem: 'file not found', isComplete: false }
  const isWhole = statSync(file).size <= CHECKED_BYTES_MAX
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      const found = db.prepare(isWhole ? 'PRAGMA quick_check(1)' : 'SELECT count(*) FROM sqlite_schema').get()
      const verdict = String(Object.values(found ?? {})[0])
      return { location: place, problem: isWhole && verdict !== 'ok' ? verdict : null, isComplete: isWhole }
    } finally {
      db.close()
    }
  } catch (error) {
    return { location: place, problem: error instanceof Error ? error.message : String(error), isComplete: false }
  }
}

/** Whether another process holds an exclusive lock on the file; null when that can't be determined. */
export function isSqliteLocked(file: string): boolean | null {
  if (!existsSync(file)) return false
  try {
    const db = new DatabaseSync(file, { readOnly: true, timeout: 0 })
    try {
      db.prepare('SELECT count(*) FROM sqlite_schema').get()
      return false
    } finally {
      db.close()
    }
  } catch (error) {
    return /locked|busy/i.test(String(error)) ? true : null
  }
}

export async function checkMongo(uri: string, timeoutMs: number): Promise<StoreCheck> {
  const place = `mongodb at ${hostsIn(uri)}`
  try {
    const connection = await connectMongo({ uri, timeoutMs })
    await connection.close()
    return { location: place, problem: null, isComplete: true }
  } catch (error) {
    return { location: place, problem: error instanceof Error ? error.message : String(error), isComplete: true }
  }
}

const hostsIn = (uri: string): string => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1] ?? 'unreadable address'
