import type { SimInstance } from './ec2/instance.ts'

/** Machines per region in ascending order of their numbers, so that a page costs only what it shows. */
export interface RegionIndex {
  in(region: string): readonly SimInstance[]
  put(instance: SimInstance): void
  remove(instance: SimInstance): void
}

export function regionIndex(instances: Iterable<SimInstance>): RegionIndex {
  const byRegion = new Map<string, SimInstance[]>()
  const listOf = (region: string): SimInstance[] => {
    const known = byRegion.get(region)
    if (known) return known
    const list: SimInstance[] = []
    byRegion.set(region, list)
    return list
  }
  const index: RegionIndex = {
    in: region => byRegion.get(region) ?? [],
    put(instance) {
      const list = listOf(instance.region)
      const at = positionFrom(list, instance.number)
      list.splice(at, list[at]?.number === instance.number ? 1 : 0, instance)
    },
    remove(instance) {
      const list = listOf(instance.region)
      const at = positionFrom(list, instance.number)
      if (list[at]?.number === instance.number) list.splice(at, 1)
    },
  }
  for (const instance of instances) index.put(instance)
  return index
}

/** Position of the first machine with that number or above. */
export function positionFrom(list: readonly SimInstance[], number: number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[middle]?.number ?? number) < number) low = middle + 1
    else high = middle
  }
  return low
}
