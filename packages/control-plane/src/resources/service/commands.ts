import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { SERVICES, type ServiceName } from '@lcm/domain/actor'
import { type Instant, toInstant, toMs } from '@lcm/domain/instant'
import { INSTANCE_SILENCE_MS, LEADER_SILENT_MS, type ServiceInstance } from '@lcm/domain/service-instance'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument } from '../change-document.ts'
import { releaseFleet } from '../fleet/change-fleet-scaling.ts'
import { auditEntry } from '../journal/entries.ts'
import { openTerm } from './term-fencing.ts'

const RACES_MAX = 10

type HeartbeatRequest = Request<{ service: string; instance_id: string }, unknown, BodyOf<'reportInstance'>>

export function serviceNamed(name: string): ServiceName {
  const service = SERVICES.find(each => each === name)
  if (service === undefined)
    throw new ProblemError('not_found', `there is no service ${name}; use one of ${SERVICES.join(', ')}`)
  return service
}

/** Heartbeat of an instance; the response carries requests to the leader of its service. */
export async function reportInstance(api: Api, request: HeartbeatRequest): Promise<AnswerOf<'reportInstance'>> {
  const { service, instance_id } = request.params
  if (request.actor.service !== service)
    throw new ProblemError('forbidden', `${request.actor.name} does not belong to ${service}`)
  await storeReport(api, service, instance_id, request.body)
  const { triggers, resignations, epoch } = await openTerm(api, service)
  if (request.body.epoch === epoch && hasSweptAll(request)) await releaseFleet(api, request.body.last_sweep)
  return { triggers, resignations }
}

/** A full sweep is done, and no worker is queued. */
const hasSweptAll = ({ params, body }: HeartbeatRequest): boolean =>
  params.service === 'worker-controller' && body.is_leader && body.queue.due === 0 && body.queue.active === 0

/** The newest report wins; concurrent reports of one instance don't matter. */
async function storeReport(
  api: Api,
  service: string,
  instance_id: string,
  report: HeartbeatRequest['body'],
): Promise<void> {
  const id = `${service}:${instance_id}`
  for (let race = 0; race < RACES_MAX; race += 1) {
    const current = await api.instances.get(id)
    const version = (current?.version ?? 0) + 1
    const seen_at = toInstant(api.clock.now())
    const unbroken_since = unbrokenSince(current, seen_at)
    const next: ServiceInstance = { ...report, id, version, service, instance_id, seen_at, unbroken_since }
    const result = current === null ? await api.instances.insert(next) : await api.instances.replace(next)
    if (result.ok) return
  }
}

/** A heartbeat that comes too late begins a new time without a pause. */
function unbrokenSince(before: ServiceInstance | null, now: Instant): Instant {
  const isUnbroken = before !== null && Math.abs(toMs(now) - toMs(before.seen_at)) <= LEADER_SILENT_MS
  return isUnbroken ? (before.unbroken_since ?? now) : now
}

/** Deletes silent instances except the newest of each service, which shows since when none runs. */
export async function deleteSilentInstances(api: Api): Promise<void> {
  const all = await api.instances.list({ limit: 1000 })
  for (const instance of all) {
    const newest = newestOf(all.filter(({ service }) => service === instance.service))
    if (isSilent(api, instance) && instance !== newest) await api.instances.remove(instance)
  }
}

export const newestOf = (instances: readonly ServiceInstance[]): ServiceInstance | undefined =>
  instances.toSorted((a, b) => a.seen_at.localeCompare(b.seen_at)).at(-1)

/** A time that far in the future is silent too: the clock was set back since. */
export const isSilent = (api: Api, { seen_at }: ServiceInstance): boolean =>
  Math.abs(api.clock.now() - toMs(seen_at)) > INSTANCE_SILENCE_MS

/** Reaches the leader with its next heartbeat, and at once by the change key of its service. */
export async function requestOfLeader(
  api: Api,
  { params, actor, body }: Request<{ service: string }, unknown, BodyOf<'triggerService'>>,
  what: 'triggers' | 'resignations',
): Promise<AnswerOf<'triggerService'>> {
  const service = serviceNamed(params.service)
  await openTerm(api, service)
  const target = { collection: api.services, id: service, noun: 'service' }
  await changeDocument(target, api.clock, null, (term, now) => {
    const action = what === 'triggers' ? 'trigger' : 'resign'
    const entries = [auditEntry(actor, action, now, { reason: body.reason })]
    return { document: { ...term, [what]: term[what] + 1 }, entries }
  })
  return { service, requested: true }
}
