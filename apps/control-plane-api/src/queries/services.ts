import { maySee } from '@lcm/contract/access'
import type { AnswerOf } from '@lcm/contract/routes'
import { type Actor, SERVICES } from '@lcm/domain/actor'
import type { ServiceInstance } from '@lcm/domain/fleet/service-instance'
import { toInstant } from '@lcm/domain/instant'
import type { Api } from '../api.ts'
import { isSilent } from '../commands/services.ts'
import { concernOf } from './concern.ts'
import { seesAll, textFor } from './own-and-others.ts'

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

async function liveInstances(api: Api): Promise<readonly ServiceInstance[]> {
  return (await api.instances.list({ limit: 1000 })).filter(instance => !isSilent(api, instance))
}

export async function listServices(api: Api): Promise<AnswerOf<'listServices'>> {
  const found = await servicesNow(api)
  const items = found.map(({ service, term, instances, leader }) => ({
    service,
    leader: leader && { instance_id: leader.instance_id, epoch: leader.epoch, since: leader.since },
    term,
    instances: instances.map(({ plan, version, ...rest }) => rest),
  }))
  return { items }
}

async function servicesNow(api: Api) {
  const live = await liveInstances(api)
  return Promise.all(
    CONTROLLERS.map(async service => {
      const term = await api.services.get(service)
      const instances = live.filter(each => each.service === service)
      return { service, term, instances, leader: leaderOf(instances, term?.epoch ?? 0) }
    }),
  )
}

/** Who says that it leads, by the newest term of all: an older leader may not have noticed yet. */
const leaderOf = (instances: readonly ServiceInstance[], epoch: number): ServiceInstance | null =>
  instances.find(each => each.is_leader && each.epoch === epoch) ?? null

/** What is planned for sessions of others is nobody's business. */
export async function fleetPlan(api: Api, actor: Actor): Promise<AnswerOf<'getFleetPlan'>> {
  const found = await servicesNow(api)
  const all = found.flatMap(({ service, leader }) => (leader?.plan ?? []).map(action => ({ service, ...action })))
  const at = toInstant(api.clock.now())
  if (seesAll(actor)) return { at, items: all }
  const items: typeof all = []
  for (const item of all) {
    const { owner, own } = await concernOf(api, item.resource)
    if (owner === null || maySee(actor, owner)) items.push(textFor(item, own))
  }
  return { at, items }
}
