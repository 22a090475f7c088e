import type { Counter, Gauge, Histogram, Labels, Meter } from '../meter.ts'

/** `error` is a reconcile that threw; the others are results. */
export type ReconcileOutcome = 'success' | 'requeue' | 'retry' | 'skip' | 'error'

export interface LoopMetrics {
  readonly reconciles: Readonly<Record<ReconcileOutcome, () => void>>
  readonly retries: Counter
  readonly duration: Histogram
  readonly eventToStart: Histogram
  readonly watchEvents: Readonly<Record<'put' | 'delete', () => void>>
  readonly active: Gauge
  readonly pending: Gauge
  readonly queueDepth: Gauge
  readonly queueOldestAge: Gauge
  readonly leader: Gauge
  readonly leaderTerm: Gauge
  readonly watchAge: Gauge
  readonly watchDegraded: Gauge
}

/** All instruments of a loop, registered at once and counted from zero, so that an absent series is a fault. */
export function loopMetrics(meter: Meter, prefix: string): LoopMetrics {
  const gauge = (name: string, help: string) => meter.gauge(`${prefix}_${name}`, help)
  const total = meter.counter(`${prefix}_reconcile_total`, 'Reconciles by result', ['result'])
  const result = (outcome: ReconcileOutcome) => counted(total, { result: outcome })
  const events = meter.counter(`${prefix}_watch_events_total`, 'Changes received by watches', ['type'])
  return {
    reconciles: {
      success: result('success'),
      requeue: result('requeue'),
      retry: result('retry'),
      skip: result('skip'),
      error: result('error'),
    },
    watchEvents: { put: counted(events, { type: 'put' }), delete: counted(events, { type: 'delete' }) },
    retries: meter.counter(`${prefix}_retries_total`, 'Backoffs begun'),
    duration: meter.histogram(`${prefix}_reconcile_duration_seconds`, 'Time of one reconcile'),
    eventToStart: meter.histogram(
      `${prefix}_event_to_reconcile_seconds`,
      'Time from news to the start of its reconcile',
    ),
    active: gauge('active_reconciles', 'Reconciles running now'),
    pending: gauge('resources_pending', 'Keys that wait for a slot or for their time'),
    queueDepth: gauge('queue_depth', 'Keys that are due and wait for a slot'),
    queueOldestAge: gauge('queue_oldest_age_seconds', 'Age of the key that has been due longest'),
    leader: gauge('leader', '1 while this instance leads'),
    leaderTerm: gauge('leader_term', 'Fencing epoch of the current term, 0 without one'),
    watchAge: gauge('watch_age_seconds', 'Time since the last sign of life of the quietest watch'),
    watchDegraded: gauge('watch_degraded', '1 while a watch has failed too many times in a row'),
  }
}

/** Labels are made once: the loop is too busy to make them per count. */
function counted(counter: Counter, labels: Labels): () => void {
  counter.add(0, labels)
  return () => counter.add(1, labels)
}
