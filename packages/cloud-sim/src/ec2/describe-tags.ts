import type { SimState } from '../sim-state.ts'
import { type Filter, filterTest, type Page, type PageRequest, pageOf } from './filters-and-paging.ts'
import { isVisible, viewOf } from './instance.ts'
import { regionNamed } from './regions-and-instance-types.ts'

export interface TagsQuery extends PageRequest {
  readonly filters: readonly Filter[]
}

export interface ShownTag {
  readonly rank: number
  readonly resource_id: string
  readonly key: string
  readonly value: string
}

/** Above the tag limit of a machine, so that ranks of two machines never overlap. */
const RANKS_PER_MACHINE = 100

export function describeTags(sim: SimState, region: string, query: TagsQuery): Page<ShownTag> {
  regionNamed(region)
  const test = filterTest(query.filters)
  const nowMs = sim.now()
  const all = sim
    .instancesIn(region)
    .filter(instance => isVisible(instance, nowMs))
    .flatMap(instance =>
      Object.entries(viewOf(instance, nowMs, sim.addressing).tags).map(([key, value], n) => ({
        rank: instance.number * RANKS_PER_MACHINE + n,
        resource_id: instance.instance_id,
        key,
        value,
      })),
    )
  return pageOf(
    all.filter(tag => test(name => valuesOf(tag, name))),
    tag => tag.rank,
    query,
  )
}

function valuesOf(tag: ShownTag, filterName: string): readonly string[] | null {
  if (filterName.startsWith('tag:')) return filterName.slice('tag:'.length) === tag.key ? [tag.value] : []
  switch (filterName) {
    case 'resource-id':
      return [tag.resource_id]
    case 'resource-type':
      return ['instance']
    case 'key':
      return [tag.key]
    case 'value':
      return [tag.value]
    default:
      return null
  }
}
