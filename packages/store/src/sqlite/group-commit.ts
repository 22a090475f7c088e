import type { DatabaseSyncInstance } from '@photostructure/sqlite'
import { type Durability, StoreError } from '../store.ts'
import { FULL, sqliteCodeOf } from './database-file.ts'

/** Larger batches would block readers for too long. */
const BATCH_MAX = 256

/** Throws to roll back its own changes. Its result is delivered once it is durable. */
export type Work<T> = () => T

export interface GroupCommit {
  /** Resolves when the work is committed. Work that arrives before the pending commit shares it. */
  commit<T>(work: Work<T>, durability?: Durability): Promise<T>
  /** Runs at once and becomes durable with the next commit: only for data that can be recovered from elsewhere. */
  commitRelaxed(work: () => void): void
}

interface Job {
  readonly durability: Durability
  run(): void
  settle(failure: unknown): void
}

/**
 * One durable commit for all writes that arrive together. `gather` decides how long writes wait for others: microtasks
 * keep a run repeatable, the next event loop iteration lets concurrent requests share a commit.
 */
export function groupCommit(db: DatabaseSyncInstance, gather: (flush: () => void) => void): GroupCommit {
  const waiting: Job[] = []

  function flush(): void {
    const jobs = waiting.splice(0, BATCH_MAX)
    if (waiting.length > 0) gather(flush)
    const failure = attempt(db, () => inOneTransaction(db, jobs))
    for (const job of jobs) job.settle(failure)
  }

  return {
    commit<T>(work: Work<T>, durability: Durability = 'at_once') {
      return new Promise<T>((resolve, reject) => {
        waiting.push({ durability, ...jobOf(work, resolve, reject) })
        if (waiting.length === 1) gather(flush)
      })
    },
    commitRelaxed(work) {
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

function jobOf<T>(
  work: Work<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Omit<Job, 'durability'> {
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
      // Jobs of a failed commit share its failure; even a refusal may follow from a write that was rolled back.
      if (failure !== null || outcome === null) reject(failure)
      else if (outcome.ok) resolve(outcome.value)
      else reject(isStoreFailure(outcome.error) ? refused(outcome.error) : outcome.error)
    },
  }
}

/** Work that throws is rolled back alone; the rest is committed. */
function inOneTransaction(db: DatabaseSyncInstance, jobs: readonly Job[]): void {
  const isDurable = jobs.some(({ durability }) => durability === 'at_once')
  db.exec(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}; BEGIN IMMEDIATE`)
  for (const job of jobs) {
    db.exec('SAVEPOINT one')
    try {
      job.run()
    } catch (error) {
      // A full disk ends the whole transaction, so every job in it fails.
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
  [READONLY, "the store's disk is read-only; make its file and folder writable, then try again"],
  [FULL, "the store's disk is full; free some space, then try again"],
])

/** BUSY, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN: failures of the store, not of the work. */
const STORE_FAILURES: ReadonlySet<unknown> = new Set([5, 7, READONLY, 10, 11, FULL, 14])
const isStoreFailure = (error: unknown): boolean => STORE_FAILURES.has(sqliteCodeOf(error))

function abandon(db: DatabaseSyncInstance): void {
  try {
    if (db.isTransaction) db.exec('ROLLBACK')
  } catch {
    // The connection is broken beyond a rollback; the next write reports it.
  }
}
