import type { Worker } from '@lcm/domain/worker/worker'

const HAIR = 1e-6

/** Rules of a worker's reservations: they fit into its capacity, and its counters match them. */
export function overbooked(worker: Pick<Worker, 'name' | 'capacity' | 'reservations'>): string[] {
  const { name, reservations } = worker
  const { declared, reserved } = worker.capacity
  const held = Object.values(reservations)
  if (declared === null) return held.length > 0 ? [`${name} declares no capacity and has sessions`] : []
  const sums = {
    cpu_cores: [sum(held.map(each => each.cpu_cores)), declared.cpu_cores],
    memory_gb: [sum(held.map(each => each.memory_gb)), declared.memory_gb],
    storage_gb: [sum(held.map(each => each.storage_gb)), declared.storage_gb ?? Number.POSITIVE_INFINITY],
    nodes: [sum(held.map(each => each.nodes)), declared.max_nodes],
  } as const
  return (['cpu_cores', 'memory_gb', 'storage_gb', 'nodes'] as const).flatMap(what => {
    const [taken, limit] = sums[what]
    const isMiscounted = Math.abs(taken - reserved[what]) > HAIR
    return [
      ...(taken > limit + HAIR ? [`${name} has ${taken} of ${limit} ${what} reserved`] : []),
      ...(isMiscounted ? [`${name} says that ${reserved[what]} ${what} are reserved, and its book ${taken}`] : []),
    ]
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** No port of a worker is used twice. */
export function sharedPorts({ name, ports }: Pick<Worker, 'name' | 'ports'>): string[] {
  const all = Object.values(ports).flatMap(each => Object.values(each))
  return new Set(all).size === all.length ? [] : [`${name} has a port twice: ${all.sort((a, b) => a - b)}`]
}
