import type { Meter } from '@lcm/runtime'

const NAMES = {
  cycles: 'cycles that were completed',
  assigned: 'sessions that were given a place',
  lost_races: 'places that were gone when they were asked for',
  reasons_told: 'reasons for waiting that were told',
  expired: 'sessions whose time was over before they had a place',
  returned: 'sessions that were taken off a worker that was lost',
  resumed: 'workers that were started for sessions',
  scale_up_requested: 'flights of workers that were asked for and granted',
  scale_up_refused: 'flights of workers that were asked for and refused',
  workers_removed: 'records of workers that a cleanup removed',
} as const

export type CounterName = keyof typeof NAMES

export interface Counters {
  add(name: CounterName, count?: number): void
  snapshot(): Readonly<Record<string, number>>
}

/** What this instance has done since it began, once for people and once for Prometheus. */
export function counters(meter: Meter): Counters {
  const counts = new Map<string, number>(Object.keys(NAMES).map(name => [name, 0]))
  const metered = new Map(
    Object.entries(NAMES).map(([name, help]) => [name, meter.counter(`resource_scheduler_${name}_total`, help)]),
  )
  return {
    add(name, count = 1) {
      counts.set(name, (counts.get(name) ?? 0) + count)
      metered.get(name)?.add(count)
    },
    snapshot: () => Object.fromEntries([...counts].map(([name, count]) => [`${name}_count`, count])),
  }
}
