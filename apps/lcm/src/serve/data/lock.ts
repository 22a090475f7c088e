import { DatabaseSync } from '@photostructure/sqlite'
import { StartupError } from '../startup-error.ts'

/**
 * Locks a file with an open exclusive transaction, which the operating system ends with the process. `what` is named in the
 * error message if another process holds the lock.
 */
export function holdLock(file: string, what: string): () => void {
  try {
    const db = new DatabaseSync(file)
    db.exec('BEGIN EXCLUSIVE')
    return () => db.close()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    if (!/locked|busy/i.test(reason)) {
      throw new StartupError(`can't lock ${file}: ${reason}`, {
        advice: 'make its folder writable, or choose another folder',
        cause,
      })
    }
    throw new StartupError(`another LCM is already using ${what}`, {
      advice: 'stop it first, or choose another folder with --data or another file in LCM_STORE',
      cause,
      exitCode: 4,
    })
  }
}
