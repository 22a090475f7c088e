import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from '../store.ts'

/** Larger batches would hold up readers. */
const BATCH_MAX = 256

/** Throws to leave no trace; what it answers is handed on once it is durable. */
export type Work<T> = () => T

export interface Batch {
  /** Resolves when the work is durable. Work that is given while a commit is awaited shares that commit. */
  commit<T>(work: Work<T>): Promise<T>
  /** At once, and durable only with the next commit: for what can be found out again. */
  relaxed(work: () => void): void
}

interface Job {
  run(): void
  settle(failure: unknown): void
}

/**
 * One durable commit for all writes that come together. `gather` says how long writes may wait for company: microtasks keep
 * a run repeatable, the event loop's next turn lets concurrent requests share a commit.
 */
export function batching(db: DatabaseSyncInstance, gather: (flush: () => void) => void): Batch {
  const waiting: Job[] = []

  function flush(): void {
    const jobs = waiting.splice(0, BATCH_MAX)
    if (waiting.length > 0) gather(flush)
    const failure = attempt(db, () => inOneTransaction(db, jobs))
    for (const job of jobs) job.settle(failure)
  }

  return {
    commit<T>(work: Work<T>) {
      return new Promise<T>((resolve, reject) => {
        waiting.push(jobOf(work, resolve, reject))
        if (waiting.length === 1) gather(flush)
      })
    },
    relaxed(work) {
      const failure = attempt(db, () => {
        db.exec('PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE')
        work()
        db.exec('COMMIT')
      })
      if (failure !== null) throw failure
    },
  }
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown }

function jobOf<T>(work: Work<T>, resolve: (value: T) => void, reject: (error: unknown) => void): Job {
  let outcome: Outcome<T> | null = null
  return {
    run() {
      try {
        outcome = { ok: true, value: work() }
      } catch (error) {
        outcome = { ok: false, error }
        throw error
      }
    },
    settle(failure) {
      if (outcome?.ok === false) reject(outcome.error)
      else if (failure !== null || outcome === null) reject(failure)
      else resolve(outcome.value)
    },
  }
}

/** Work that throws is undone alone; the others are committed. */
function inOneTransaction(db: DatabaseSyncInstance, jobs: readonly Job[]): void {
  db.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE')
  for (const job of jobs) {
    db.exec('SAVEPOINT one')
    try {
      job.run()
    } catch {
      db.exec('ROLLBACK TO one')
    }
    db.exec('RELEASE one')
  }
  db.exec('COMMIT')
}

function attempt(db: DatabaseSyncInstance, work: () => void): StoreError | null {
  try {
    work()
    return null
  } catch (error) {
    abandon(db)
    const reason = error instanceof Error ? error.message : String(error)
    return new StoreError(`the store refused a write: ${reason}`, { cause: error })
  }
}

function abandon(db: DatabaseSyncInstance): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
  } catch {
    // A connection that can not even roll back is of no use any more; the next write will say so.
  }
}
