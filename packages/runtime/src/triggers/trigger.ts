import type { Backoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { ResourceState } from '../reconciliation/resource-state.ts'

/** Something that wants keys looked at. It only adds keys: it never acts and never throws. */
export interface Trigger<R = unknown> {
  readonly name: string
  /** Runs for one term; ends soon after `context.signal` aborts, or earlier when it has nothing more to add. */
  run(context: TriggerContext<R>): Promise<void>
  /** Adds everything there is, once. Only triggers that can list have it. */
  runNow?(context: TriggerContext<R>): Promise<void>
  watchHealth?(monotonicMs: number): WatchHealth
}

export interface WatchHealth {
  readonly name: string
  readonly connected: boolean
  /** Set after too many failed attempts in a row; the attempts go on. */
  readonly degraded: boolean
  readonly attempts: number
  /** Time since the last sign of life; null before the first. */
  readonly age_ms: number | null
  readonly revision: number | null
}

export interface AddOptions {
  readonly afterMs?: number
  /** Before all other news. */
  readonly goesFirst?: boolean
}

/** A trigger's hands for one term. Nothing here throws, and after the term nothing here does anything. */
export interface TriggerContext<R = unknown> {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly logger: Logger
  readonly backoff: Backoff
  /** News: the key is due after `afterMs` or earlier, whatever it was waiting for. */
  add(key: string, cause: string, when?: AddOptions): void
  /** The key is gone: what was planned and known for it is dropped. */
  forget(key: string): void
  seen(key: string): ResourceState | undefined
  openListing(cause: string): Listing<R>
  /** Resolves when there is room for another page, so that a big listing does not pile up copies. */
  waitForCapacity(): Promise<void>
  countWatchEvent(type: 'put' | 'delete'): void
}

/** One reading of a list, page by page. */
export interface Listing<R> {
  /** Routine: the key is looked at unless it already waits. The copy rides along unless the key was touched meanwhile. */
  offer(key: string, copy: R): void
  /** The key exists, though nothing needs doing. */
  mark(key: string): void
  /** The list was read to its end and holds everything: what is known beyond it is forgotten. */
  completeSweep(): void
  close(): void
}
