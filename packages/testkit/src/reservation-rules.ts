import type { Worker } from '@lcm/domain/worker/worker'

const HAIR = 1e-6
const RESOURCES = ['cpu_cores', 'memory_gb', 'storage_gb', 'nodes'] as const

type Ledger = Pick<Worker, 'name' | 'capacity' | 'reservations'>
type Reserved = Worker['reservations'][string]

/**
 * Rules of a worker's reservations: at each moment of their spans they fit into its capacity, so do the labs that have started, and
 * its counters are the most of any moment. Counted here from the reservations alone.
 */
export function overbooked(worker: Ledger): string[] {
  const { name, reservations } = worker
  const { declared, reserved } = worker.capacity
  const all = Object.values(reservations)
  if (declared === null) return all.length > 0 ? [`${name} declares no capacity and has sessions`] : []
  const limits = { ...declared, storage_gb: declared.storage_gb ?? Number.POSITIVE_INFINITY, nodes: declared.max_nodes }
  const started = all.filter(({ started_at }) => started_at !== null)
  return RESOURCES.flatMap(what => {
    // The peak is at the beginning of a reservation.
    const moments = all.map(({ from }) => sumOf(all.filter(isThereAt(from)), what))
    const peak = Math.max(0, ...moments)
    const isMiscounted = Math.abs(peak - reserved[what]) > HAIR
    return [
      ...exceeds(name, 'reserved', { taken: peak, limit: limits[what], what }),
      ...exceeds(name, 'in use', { taken: sumOf(started, what), limit: limits[what], what }),
      ...(isMiscounted ? [`${name} says that ${reserved[what]} ${what} are reserved, and its book ${peak}`] : []),
    ]
  })
}

const isThereAt =
  (moment: string) =>
  ({ from, until }: Reserved): boolean =>
    from <= moment && (until === null || moment < until)

const exceeds = (name: string, how: string, { taken, limit, what }: { taken: number; limit: number; what: string }) =>
  taken > limit + HAIR ? [`${name} has ${taken} of ${limit} ${what} ${how}`] : []

const sumOf = (all: readonly Reserved[], what: (typeof RESOURCES)[number]): number =>
  all.reduce((total, each) => total + each[what], 0)

/** No port of a worker is used twice. */
export function sharedPorts({ name, ports }: Pick<Worker, 'name' | 'ports'>): string[] {
  const all = Object.values(ports).flatMap(each => Object.values(each))
  return new Set(all).size === all.length ? [] : [`${name} has a port twice: ${all.sort((a, b) => a - b)}`]
}
