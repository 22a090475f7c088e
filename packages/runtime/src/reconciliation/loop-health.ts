import type { WatchHealth } from '../triggers/trigger.ts'
import type { Loop } from './loop.ts'

/** Health of a loop, for the health route, the heartbeat and the statistics page. */
export interface ReconciliationHealth {
  readonly name: string
  /** Degraded while a watch is: polling carries on, changes are noticed late. */
  readonly status: 'healthy' | 'degraded'
  readonly running: boolean
  readonly epoch: number | null
  readonly last_reconciliation: string | null
  /** The last time everything there is was listed to the end. */
  readonly last_sweep: string | null
  readonly resources_managed: number
  readonly resources_pending: number
  readonly active_reconciles: number
  readonly queue_depth: number
  readonly queue_oldest_age_ms: number
  /** Keys whose last outcome was a retry. */
  readonly retries: number
  readonly watches: readonly WatchHealth[]
}

export function healthOf<R>(loop: Loop<R>): ReconciliationHealth {
  const { options, queue, term } = loop
  const monotonicMs = options.clock.monotonic()
  const watches = term ? options.triggers.flatMap(trigger => trigger.watchHealth?.(monotonicMs) ?? []) : []
  return {
    name: options.name,
    status: watches.some(watch => watch.degraded) ? 'degraded' : 'healthy',
    running: term !== undefined,
    epoch: term?.leadership.epoch ?? null,
    last_reconciliation: iso(loop.lastReconciledAt),
    last_sweep: iso(loop.lastSweptAt),
    resources_managed: term?.states.size ?? 0,
    resources_pending: queue.depth,
    active_reconciles: term?.active ?? 0,
    queue_depth: queue.due,
    queue_oldest_age_ms: queue.oldestAgeMs(),
    retries: term?.states.retrying ?? 0,
    watches,
  }
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

export function setGauges<R>({ metrics }: Loop<R>, health: ReconciliationHealth): void {
  metrics.active.set(health.active_reconciles)
  metrics.pending.set(health.resources_pending)
  metrics.queueDepth.set(health.queue_depth)
  metrics.queueOldestAge.set(health.queue_oldest_age_ms / 1_000)
  metrics.leader.set(health.running ? 1 : 0)
  metrics.leaderTerm.set(health.epoch ?? 0)
  metrics.watchAge.set(Math.max(0, ...health.watches.map(watch => watch.age_ms ?? 0)) / 1_000)
  metrics.watchDegraded.set(health.status === 'degraded' ? 1 : 0)
}
