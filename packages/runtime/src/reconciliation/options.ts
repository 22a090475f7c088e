import type { Backoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Leadership } from '../election.ts'
import type { Logger } from '../logger.ts'
import type { Meter } from '../meter.ts'
import type { Trigger } from '../triggers/trigger.ts'
import type { ReconciliationResult } from './result.ts'

export interface ReconcileContext<R = unknown> {
  /** Aborts at once when leadership is lost; on a clean stop only after the shutdown deadline. */
  readonly signal: AbortSignal
  /** The fencing token of the term this work belongs to; 0 without an election. */
  readonly epoch: number
  readonly leadership: Leadership
  /** Event that woke the key. For logs only: a reconcile observes the resource, not the event. */
  readonly cause: string
  /** Has the key bound. */
  readonly logger: Logger
  /** The copy that a listing of this cycle has just read, if nothing was heard of the key since. */
  readonly listed: R | undefined
  /**
   * Runs a slow call without holding a slot: other keys are reconciled meanwhile, this one stays in hand. It takes a slot again
   * before it goes on.
   */
  withoutSlot<Answer>(work: () => Promise<Answer>): Promise<Answer>
}

export interface ReconciliationOptions<R = unknown> {
  readonly name: string
  readonly clock: Clock
  readonly triggers: readonly Trigger<R>[]
  /** Acts or looks, persists, and says when to come back. Slow calls go through `withoutSlot`: slots are few. */
  reconcile(key: string, context: ReconcileContext<R>): Promise<ReconciliationResult>
  readonly concurrency?: number
  readonly backoff?: Backoff
  /** Deadline for reconciles in progress after a clean stop. */
  readonly shutdownDeadlineMs?: number
  /** The most distinct keys that may be queued. */
  readonly keysMax?: number
  readonly logger?: Logger
  readonly meter?: Meter
  readonly metricPrefix?: string
}
