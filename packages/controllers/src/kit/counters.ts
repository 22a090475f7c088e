import type { Meter } from '@lcm/runtime'

const NAMES = {
  sessions_instantiated: 'sessions whose lab was begun',
  sessions_ready: 'sessions whose lab came up',
  sessions_stopped: 'sessions whose lab was taken down',
  labs_imported: 'labs that were imported',
  labs_deleted: 'labs that were removed',
  labs_scanned: 'workers whose labs were listed',
  actions_done: 'actions on labs that people asked for and that are done',
  syncs: 'topologies that were fetched',
} as const

export type CounterName = keyof typeof NAMES

export interface Counters {
  add(name: CounterName): void
  snapshot(): Readonly<Record<string, number>>
}

/** What this instance has done since it began, once for people and once for Prometheus. */
export function counters(meter: Meter): Counters {
  const counts = new Map<string, number>(Object.keys(NAMES).map(name => [name, 0]))
  const metered = new Map(
    Object.entries(NAMES).map(([name, help]) => [name, meter.counter(`lablet_controller_${name}_total`, help)]),
  )
  return {
    add(name) {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      metered.get(name)?.add()
    },
    snapshot: () => Object.fromEntries([...counts].map(([name, count]) => [`${name}_count`, count])),
  }
}
