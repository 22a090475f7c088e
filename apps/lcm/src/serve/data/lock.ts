import { DatabaseSync } from '@photostructure/sqlite'
import { StartupError } from '../startup-error.ts'

/**
 * Holds a file for this process alone, by an open exclusive transaction: the operating system ends it with the process,
 * however that ends. `what` is named to whoever comes second.
 */
export function holdLock(file: string, what: string): () => void {
  try {
    const db = new DatabaseSync(file)
    db.exec('BEGIN EXCLUSIVE')
    return () => db.close()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (!/locked|busy/i.test(reason)) {
      throw new StartupError(`${file} can not be used as a lock: ${reason}. Remove it if no LCM runs here`, { cause })
    }
    throw new StartupError(`another LCM uses ${what} already. Stop it first, or name another folder with --data`, {
      cause,
      exitCode: 4,
    })
  }
}
