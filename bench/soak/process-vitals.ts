import { samplesIn } from '../product/prometheus-parser.ts'
import { rounded } from '../report/quantiles.ts'

/** Memory, handles and event loop delay of a process. */
export interface Vitals {
  readonly minute: number
  readonly rssMb: number
  readonly heapMb: number
  readonly handles: number
  readonly loopP99Ms: number
  readonly loopMaxMs: number
}

export function vitalsFrom(metrics: string, minute: number): Vitals {
  const samples = new Map(samplesIn(metrics).map(({ name, value }) => [name, value]))
  const read = (name: string, factor: number) => rounded((samples.get(name) ?? Number.NaN) * factor, 2)
  return {
    minute: rounded(minute, 2),
    rssMb: read('process_resident_memory_bytes', 1e-6),
    heapMb: read('nodejs_heap_size_used_bytes', 1e-6),
    handles: read('nodejs_active_handles_total', 1),
    // These two cover the time since the last read.
    loopP99Ms: read('nodejs_eventloop_lag_p99_seconds', 1e3),
    loopMaxMs: read('nodejs_eventloop_lag_max_seconds', 1e3),
  }
}

/** Minimum of each minute, between periodic tasks. */
export function leastOfEachMinute(points: readonly (readonly [minute: number, value: number])[]): [number, number][] {
  const least = new Map<number, readonly [number, number]>()
  for (const point of points) {
    const [minute, value] = point
    const known = least.get(Math.floor(minute))
    if (known === undefined || value < known[1]) least.set(Math.floor(minute), point)
  }
  return [...least.values()].map(([minute, value]) => [minute, value])
}
