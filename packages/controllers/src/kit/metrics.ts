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
