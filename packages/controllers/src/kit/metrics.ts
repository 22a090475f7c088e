import type { Meter } from '@lcm/runtime'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface PromMeter extends Meter {
  /** Everything measured so far, in Prometheus' text format. */
  text(): Promise<string>
}

/** Seconds, from a no-op reconcile to a slow cloud call. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

export function promMeter(): PromMeter {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const about = (name: string, help: string, labels: readonly string[] = []) => ({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
  })
  return {
    counter(name, help, labels) {
      const counter = new Counter(about(name, help, labels))
      return { add: (value = 1, values = {}) => counter.inc(values, value), drop: values => counter.remove(values) }
    },
    gauge(name, help, labels) {
      const gauge = new Gauge(about(name, help, labels))
      return { set: (value, values = {}) => gauge.set(values, value), drop: values => gauge.remove(values) }
    },
    histogram(name, help, labels) {
      const histogram = new Histogram({ ...about(name, help, labels), buckets: BUCKETS })
      return {
        observe: (value, values = {}) => histogram.observe(values, value),
        drop: values => histogram.remove(values),
      }
    },
    text: () => registry.metrics(),
  }
}

export interface Counters<Name extends string> {
  add(name: Name, count?: number): void
  /** Each as `<name>_count`. */
  snapshot(): Readonly<Record<string, number>>
}

/** Counts since the process started, for `/admin/stats` and as `<prefix>_<name>_total` for Prometheus. */
export function counters<Name extends string>(
  meter: Meter,
  prefix: string,
  help: Readonly<Record<Name, string>>,
): Counters<Name> {
  const counts = new Map<string, number>(Object.keys(help).map(name => [name, 0]))
  const metered = new Map(
    Object.entries<string>(help).map(([name, text]) => [name, meter.counter(`${prefix}_${name}_total`, text)]),
  )
  return {
    add(name, count = 1) {
      counts.set(name, (counts.get(name) ?? 0) + count)
      metered.get(name)?.add(count)
    },
    snapshot: () => Object.fromEntries([...counts].map(([name, count]) => [`${name}_count`, count])),
  }
}

const LABELS = ['action', 'code']

interface AwsCall {
  readonly action: string
  /** Null on success. */
  readonly code: string | null
  readonly ms: number
}

/** Counts and times every attempt of an AWS call, including retries. Pass it to each client as `onCall`. */
export function awsCallMetrics(meter: Meter): (call: AwsCall) => void {
  const calls = meter.counter('aws_calls_total', 'Attempts of AWS calls, by action and result code', LABELS)
  const durations = meter.histogram(
    'aws_call_duration_seconds',
    'Duration of AWS calls, by action and result code',
    LABELS,
  )
  return ({ action, code, ms }) => {
    const labels = { action, code: code ?? 'ok' }
    calls.add(1, labels)
    durations.observe(ms / 1000, labels)
  }
}
