import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { StoreError } from '../store.ts'
import { FULL, sqliteCodeOf } from './file.ts'

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
      // What failed together failed for one reason; a refusal may follow from a write that did not happen either.
      if (failure !== null || outcome === null) reject(failure)
      else if (outcome.ok) resolve(outcome.value)
      else reject(isOfStore(outcome.error) ? refused(outcome.error) : outcome.error)
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
    } catch (error) {
      // A full disk ends the whole transaction, and that is what everybody in it is to hear.
      if (!db.isTransaction) throw error
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
    return refused(error)
  }
}

function refused(error: unknown): StoreError {
  const reason = error instanceof Error ? error.message : String(error)
  const advice = ADVICE.get(sqliteCodeOf(error))
  return new StoreError(`the store refused a write: ${reason}`, { cause: error, ...(advice && { advice }) })
}

const READONLY = 8
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  [READONLY, "the store's disk takes no writes; make its file and folder writable, then try again"],
  [FULL, "the store's disk is full; make room on it, then try again"],
])

/** BUSY, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN: nothing that the work could have done otherwise. */
const OF_STORE: ReadonlySet<unknown> = new Set([5, 7, READONLY, 10, 11, FULL, 14])
const isOfStore = (error: unknown): boolean => OF_STORE.has(sqliteCodeOf(error))

function abandon(db: DatabaseSyncInstance): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
  } catch {
    // A connection that can not even roll back is of no use any more; the next write will say so.
  }
}
