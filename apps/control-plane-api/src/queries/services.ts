import type { AnswerOf } from '@lcm/contract/routes'
import { SERVICES } from '@lcm/domain/actor'
import type { ServiceInstance } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import type { Api } from '../api.ts'
import { isSilent } from '../commands/services.ts'

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

async function liveInstances(api: Api): Promise<readonly ServiceInstance[]> {
  return (await api.instances.list({ limit: 1000 })).filter(instance => !isSilent(api, instance))
}

export async function listServices(api: Api): Promise<AnswerOf<'listServices'>> {
  const live = await liveInstances(api)
  const items = await Promise.all(
    CONTROLLERS.map(async service => {
      const term = await api.services.get(service)
      const instances = live.filter(each => each.service === service)
      const leader = leaderOf(instances, term?.epoch ?? 0)
      return { service, leader, term, instances: instances.map(({ plan, version, ...rest }) => rest) }
    }),
  )
  return { items }
}

/** Who says that it leads, by the newest term of all: an older leader may not have noticed yet. */
function leaderOf(instances: readonly ServiceInstance[], epoch: number) {
  const leader = instances.find(each => each.is_leader && each.epoch === epoch)
  return leader === undefined ? null : { instance_id: leader.instance_id, epoch: leader.epoch, since: leader.since }
}

export async function fleetPlan(api: Api): Promise<AnswerOf<'getFleetPlan'>> {
  const leaders = (await liveInstances(api)).filter(each => each.is_leader)
  const items = leaders.flatMap(({ service, plan }) => plan.map(action => ({ service, ...action })))
  return { at: toInstant(api.clock.now()), items }
}
