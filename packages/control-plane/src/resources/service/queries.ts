import { mayView } from '@lcm/contract/route-spec'
import type { AnswerOf } from '@lcm/contract/routes'
import { type Actor, SERVICES, type ServiceName } from '@lcm/domain/actor'
import type { ServiceTerm } from '@lcm/domain/fencing'
import { toInstant } from '@lcm/domain/instant'
import { redactReason } from '@lcm/domain/redact-reason'
import type { ServiceInstance } from '@lcm/domain/service-instance'
import type { Api } from '../../api-context.ts'
import { narrowPlanned, sessionPlanFor } from '../../narrow-view.ts'
import { redactSessionIds } from '../../redact-session-ids.ts'
import { seesAll, visibilityOf } from '../../visibility.ts'
import { isSilent, newestOf } from './commands.ts'

const CONTROLLERS = SERVICES.filter(service => service !== 'control-plane-api')

export async function listServices(api: Api, actor: Actor): Promise<AnswerOf<'listServices'>> {
  const found = await servicesNow(api)
  const items = found.map(({ service, term, instances, leader, last_seen_at }) => ({
    service,
    leader: leader && { instance_id: leader.instance_id, epoch: leader.epoch, since: leader.since },
    term,
    last_seen_at,
    instances: instances.map(({ plan, version, unbroken_since, problems, ...rest }) => ({
      ...rest,
      problems: seesAll(actor) ? problems : problems.map(redactReason),
    })),
  }))
  return { items }
}

async function servicesNow(api: Api) {
  const all = await api.instances.list({ limit: 1000 })
  return Promise.all(
    CONTROLLERS.map(async service => {
      const term = await api.services.get(service)
      const known = all.filter(each => each.service === service)
      const instances = known.filter(each => !isSilent(api, each))
      const last_seen_at = newestOf(known)?.seen_at ?? null
      return { service, term, instances, leader: leaderOf(instances, term?.epoch ?? 0), last_seen_at }
    }),
  )
}

/** The newest term of the service, and its leader if that reported lately. */
export async function leaderOfService(
  api: Api,
  service: ServiceName,
): Promise<{ term: ServiceTerm | null; leader: ServiceInstance | null }> {
  const [term, known] = await Promise.all([
    api.services.get(service),
    api.instances.list({ where: { service }, limit: 1000 }),
  ])
  const instances = known.filter(each => !isSilent(api, each))
  return { term, leader: leaderOf(instances, term?.epoch ?? 0) }
}

/** The instance that leads in the newest term: an older leader may not have noticed yet. */
const leaderOf = (instances: readonly ServiceInstance[], epoch: number): ServiceInstance | null =>
  instances.find(each => each.is_leader && each.epoch === epoch) ?? null

/** Hides planned actions for sessions of other owners, and infrastructure in those for the fleet. */
export async function fleetPlan(api: Api, actor: Actor): Promise<AnswerOf<'getFleetPlan'>> {
  const found = await servicesNow(api)
  const all = found.flatMap(({ service, leader }) => (leader?.plan ?? []).map(action => ({ service, ...action })))
  const at = toInstant(api.clock.now())
  if (seesAll(actor)) return { at, items: all }
  const items: typeof all = []
  for (const item of all) {
    const { owner, own } = await visibilityOf(api, item.resource)
    if (owner === null) items.push(redactSessionIds(narrowPlanned(item), own))
    else if (mayView(actor, owner)) items.push(redactSessionIds(sessionPlanFor(actor, item), own))
  }
  return { at, items }
}
