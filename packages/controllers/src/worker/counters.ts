import type { Meter } from '@lcm/runtime'

const NAMES = {
  provisioned: 'launches that the cloud took',
  started: 'machines first seen running after a launch or a start',
  stopped: 'machines that EC2 confirmed as stopped',
  terminated: 'machines that EC2 confirmed as terminated',
  metrics_collected: 'cycles of the metrics loop that were completed',
  idle_detection: 'checks whether anybody uses a worker',
  auto_pause: 'workers that were stopped because nobody used them',
  license_registered: 'licences that were registered',
  license_deregistered: 'licences that were given back',
  scale_down_drain: 'workers that were drained because nobody used them',
} as const

export type CounterName = keyof typeof NAMES

export interface Counters {
  add(name: CounterName): void
  metricsCollected(): void
  /** The eleven of `/admin/stats`. */
  snapshot(runningWorkers: number): Readonly<Record<string, number>>
}

/** What this instance has done since it began, once for people and once for Prometheus. */
export function counters(meter: Meter): Counters {
  const counts = new Map<CounterName, number>()
  const metered = new Map(
    Object.entries(NAMES).map(([name, help]) => [name, meter.counter(`worker_controller_${name}_total`, help)]),
  )
  const running = meter.gauge('worker_controller_running_workers', 'workers that are RUNNING')
  const add = (name: CounterName) => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    metered.get(name)?.add()
  }
  return {
    add,
    metricsCollected: () => add('metrics_collected'),
    snapshot(runningWorkers) {
      running.set(runningWorkers)
      const done = Object.keys(NAMES).map(name => [`${name}_count`, countOf(counts, name)])
      return { ...Object.fromEntries(done), running_worker_count: runningWorkers }
    },
  }
}

const countOf = (counts: ReadonlyMap<string, number>, name: string): number => counts.get(name) ?? 0
