import type { Backoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { ResourceState } from '../reconciliation/resource-state.ts'

/** Adds keys to reconcile. It never acts and never throws. */
export interface Trigger<R = unknown> {
  readonly name: string
  /** Runs for one term; ends soon after `context.signal` aborts, or earlier when it has no more keys to add. */
  run(context: TriggerContext<R>): Promise<void>
  /** Adds all keys, once. Only triggers that can list have it. */
  runNow?(context: TriggerContext<R>): Promise<void>
  watchHealth?(monotonicMs: number): WatchHealth
}

export interface WatchHealth {
  readonly name: string
  readonly connected: boolean
  /** Set after too many failed attempts in a row; the attempts continue. */
  readonly degraded: boolean
  readonly attempts: number
  /** Time since the last message; null before the first. */
  readonly age_ms: number | null
  readonly revision: number | null
}

export interface AddOptions {
  readonly afterMs?: number
  /** Before all other changes. */
  readonly goesFirst?: boolean
}

/** Functions of a trigger for one term. None of them throws, and after the term none has any effect. */
export interface TriggerContext<R = unknown> {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly logger: Logger
  readonly backoff: Backoff
  /** A change: the key is due after `afterMs` or earlier, even during a backoff. */
  add(key: string, cause: string, when?: AddOptions): void
  /** The resource was deleted: plans and state of the key are dropped. */
  forget(key: string): void
  seen(key: string): ResourceState | undefined
  openListing(cause: string): Listing<R>
  /** Resolves when the queue can hold another page, so that a big listing does not pile up copies. */
  waitForCapacity(): Promise<void>
  countWatchEvent(type: 'put' | 'delete'): void
}

/** One reading of a list, page by page. */
export interface Listing<R> {
  /**
   * Routine: the key is reconciled unless it already waits. The copy is used unless the key changes in the meantime.
   */
  offer(key: string, copy: R): void
  /** The key exists, but needs no reconcile. */
  mark(key: string): void
  /** The list is complete: known keys that it lacks are forgotten. */
  completeSweep(): void
  close(): void
}
