import type { World } from '../world.ts'
import { type Filter, type FilterTest, filterTest, type Page, type PageRequest, pageOf } from './filters.ts'
import { isVisible, type MachineView, viewOf } from './instance.ts'
import { regionNamed } from './places.ts'
import { namedInstances } from './power.ts'
import { Ec2Refusal } from './refusal.ts'

export interface InstancesQuery extends PageRequest {
  readonly instance_ids: readonly string[]
  readonly filters: readonly Filter[]
}

export function describeInstances(world: World, region: string, query: InstancesQuery): Page<MachineView> {
  regionNamed(region)
  if (query.max_results !== null && query.instance_ids.length > 0) {
    throw new Ec2Refusal(
      'InvalidParameterCombination',
      'The parameter instancesSet cannot be used with the parameter maxResults',
    )
  }
  const candidates =
    query.instance_ids.length > 0 ? namedInstances(world, region, query.instance_ids) : world.instances.values()
  return pageOf(shown(world, region, { candidates, test: filterTest(query.filters) }), rankOf, query)
}

const rankOf = (view: MachineView) => view.instance.number

interface Selection {
  readonly candidates: Iterable<MachineView['instance']>
  readonly test: FilterTest
}

function* shown(world: World, region: string, { candidates, test }: Selection): Generator<MachineView> {
  const nowMs = world.now()
  for (const instance of candidates) {
    if (instance.region !== region || !isVisible(instance, nowMs)) continue
    const view = viewOf(instance, nowMs, world.addressing)
    if (test(name => valuesOf(view, name))) yield view
  }
}

function valuesOf(view: MachineView, filterName: string): readonly string[] | null {
  if (filterName.startsWith('tag:')) {
    const value = view.tags[filterName.slice('tag:'.length)]
    return value === undefined ? [] : [value]
  }
  switch (filterName) {
    case 'tag-key':
      return Object.keys(view.tags)
    case 'client-token':
      return view.instance.client_token === null ? [] : [view.instance.client_token]
    case 'instance-state-name':
      return [view.state]
    case 'instance-id':
      return [view.instance.instance_id]
    case 'instance-type':
      return [view.instance.instance_type]
    case 'availability-zone':
      return [view.instance.availability_zone]
    case 'image-id':
      return [view.instance.image_id]
    case 'subnet-id':
      return [view.instance.subnet_id]
    default:
      return null
  }
}
