import { TAG } from '@lcm/domain/worker/ec2-instance'
import { positionFrom } from '../machines-by-region.ts'
import type { SimState } from '../sim-state.ts'
import {
  checkPageRequest,
  type Filter,
  type FilterTest,
  filterTest,
  type Page,
  type PageRequest,
  pageOf,
  rankAfter,
} from './filters-and-paging.ts'
import { isVisible, type MachineView, type SimInstance, tagsAt, viewOf } from './instance.ts'
import { namedInstances } from './power.ts'
import { Ec2Refusal } from './refusal.ts'
import { regionNamed } from './regions-and-instance-types.ts'
import { scaled } from './start-plan.ts'

export interface InstancesQuery extends PageRequest {
  readonly instance_ids: readonly string[]
  readonly filters: readonly Filter[]
}

export function describeInstances(sim: SimState, region: string, query: InstancesQuery): Page<MachineView> {
  regionNamed(region)
  checkIdsOrPages(query)
  const test = filterTest(query.filters)
  return pageOf(shown(sim, region, { query, test }), rankOf, query)
}

/** EC2 allows paging only without ids. */
export function checkIdsOrPages(query: { readonly instance_ids: readonly string[] } & PageRequest): void {
  checkPageRequest(query)
  if (query.max_results === null || query.instance_ids.length === 0) return
  throw new Ec2Refusal(
    'InvalidParameterCombination',
    'The parameter instancesSet cannot be used with the parameter maxResults',
  )
}

const rankOf = (view: MachineView) => view.instance.number

/** The named machines, or those of the region after the previous page. */
export function candidatesOf(
  sim: SimState,
  region: string,
  query: Omit<InstancesQuery, 'filters'>,
): readonly SimInstance[] {
  if (query.instance_ids.length > 0) return namedInstances(sim, region, query.instance_ids)
  return sim.instancesIn(region)
}

function* shown(
  sim: SimState,
  region: string,
  { query, test }: { readonly query: InstancesQuery; readonly test: FilterTest },
): Generator<MachineView> {
  const readMs = sim.now() - lagMs(sim)
  const candidates = candidatesOf(sim, region, query)
  const first = positionFrom(candidates, rankAfter(query) + 1)
  const start = query.instance_ids.length > 0 ? 0 : first
  for (let at = start; at < candidates.length; at++) {
    const instance = candidates[at]
    if (!instance || !isVisible(instance, readMs)) continue
    const seen = lazily(() => viewOf(instance, readMs, sim.addressing))
    if (test(name => valuesOf({ instance, readMs, seen }, name))) yield seen()
  }
}

/** Some reads come from a replica that lags by seconds. */
function lagMs(sim: SimState): number {
  const { stale_read_rate, stale_read_s } = sim.faults.plan()
  if (!sim.faults.strikes(stale_read_rate, 'stale')) return 0
  return scaled(sim, stale_read_s * sim.faults.draw('lag'))
}

/** Most filters don't need the whole view, and a listing tests each of many machines. */
function lazily(make: () => MachineView): () => MachineView {
  let made: MachineView | null = null
  return () => {
    made ??= make()
    return made
  }
}

interface Tested {
  readonly instance: SimInstance
  readonly readMs: number
  readonly seen: () => MachineView
}

const present = (value: string | null | undefined): readonly string[] =>
  value === null || value === undefined ? [] : [value]

function valuesOf({ instance, readMs, seen }: Tested, filterName: string): readonly string[] | null {
  if (filterName.startsWith('tag:')) {
    const key = filterName.slice('tag:'.length)
    return present(key === TAG.endpoint ? seen().tags[key] : tagsAt(instance, readMs)[key])
  }
  switch (filterName) {
    case 'tag-key':
      return Object.keys(seen().tags)
    case 'client-token':
      return present(instance.client_token)
    case 'instance-state-name':
      return [seen().state]
    case 'ip-address':
      return present(seen().public_ip)
    case 'private-ip-address':
      return present(seen().private_ip)
    case 'instance-id':
      return [instance.instance_id]
    case 'instance-type':
      return [instance.instance_type]
    case 'availability-zone':
      return [instance.availability_zone]
    case 'image-id':
      return [instance.image_id]
    case 'subnet-id':
      return [instance.subnet_id]
    case 'vpc-id':
      return [instance.vpc_id]
    case 'reservation-id':
      return [instance.reservation_id]
    default:
      return null
  }
}
