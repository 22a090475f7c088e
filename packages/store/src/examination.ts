import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from '@photostructure/sqlite'
import { connectMongo } from './mongo-store.ts'

export interface StoreFacts {
  /** Without a password. */
  readonly place: string
  /** Null where it is well. */
  readonly problem: string | null
  /** Whether all of it was read; a large file is not. */
  readonly isWhole: boolean
}

/** More would take longer than anybody waits. */
const CHECKED_BYTES_MAX = 256 * 1024 * 1024

/** Opens a file of the store for reading and checks it. Another process may use it meanwhile. */
export function examineSqlite(file: string): StoreFacts {
  const place = `sqlite:${file}`
  if (!existsSync(file)) return { place, problem: 'there is no such file', isWhole: false }
  const isWhole = statSync(file).size <= CHECKED_BYTES_MAX
  try {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      const found = db.prepare(isWhole ? 'PRAGMA quick_check(1)' : 'SELECT count(*) FROM sqlite_schema').get()
      const verdict = String(Object.values(found ?? {})[0])
      return { place, problem: isWhole && verdict !== 'ok' ? verdict : null, isWhole }
    } finally {
      db.close()
    }
  } catch (error) {
    return { place, problem: error instanceof Error ? error.message : String(error), isWhole: false }
  }
}

/** Whether a process holds a file that it made its lock by an exclusive transaction; null where that can't be told. */
export function isLocked(file: string): boolean | null {
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

/** Whether MongoDB answers us. */
export async function examineMongo(uri: string, timeoutMs: number): Promise<StoreFacts> {
  const place = `mongodb at ${hostsIn(uri)}`
  try {
    const connection = await connectMongo({ uri, timeoutMs })
    await connection.close()
    return { place, problem: null, isWhole: true }
  } catch (error) {
    return { place, problem: error instanceof Error ? error.message : String(error), isWhole: true }
  }
}

const hostsIn = (uri: string): string => /^[^/]*\/\/(?:[^@/]*@)?([^/?]*)/.exec(uri)?.[1] ?? 'an unreadable address'
