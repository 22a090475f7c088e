import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Fence, ServiceTerm } from '@lcm/domain/fencing'
import { toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument } from '../change-document.ts'
import { auditEntry } from '../journal/entries.ts'

/** Larger than any epoch within one generation: etcd would need centuries to reach it. */
const GENERATION_SPAN = 1e12

type TermRequest = Request<{ service: string }, unknown, BodyOf<'registerTerm'>>

/** A new leader registers before it writes. From then on every older one is refused. */
export async function registerTerm(api: Api, request: TermRequest): Promise<ServiceTerm> {
  const { service } = request.params
  if (request.actor.service !== service)
    throw new ProblemError('forbidden', `${request.actor.name} does not belong to ${service}`)
  await openTerm(api, service)
  const target = { collection: api.services, id: service, noun: 'service' }
  return changeDocument(target, api.clock, null, (term, now) => {
    const { epoch, instance_id } = request.body
    if (epoch === term.epoch && instance_id === term.instance_id) return null
    if (epoch <= term.epoch) throw stale(term, epoch)
    const document = { ...term, epoch, instance_id }
    return { document, entries: [auditEntry(request.actor, 'lead', now, { before: term, after: document })] }
  })
}

/** The document of a service, created on first use. */
export async function openTerm(api: Api, service: string): Promise<ServiceTerm> {
  const found = await api.services.get(service)
  if (found !== null) return found
  const now = toInstant(api.clock.now())
  const counts = { epoch: 0, generation: 0, triggers: 0, resignations: 0 }
  const first = { id: service, version: 1, created_at: now, updated_at: now, instance_id: '', ...counts }
  const result = await api.services.insert(first)
  return result.ok ? first : openTerm(api, service)
}

function stale(term: ServiceTerm, epoch: number): ProblemError {
  const leads = `${term.instance_id || 'no instance'} leads by epoch ${term.epoch}`
  const remedy = `If the epochs restarted, run: lcm services reset-term ${term.id}`
  return new ProblemError('stale_leader', `epoch ${epoch} of ${term.id} is over: ${leads}. ${remedy}`)
}

/** A rebuilt etcd starts its epochs at 1 again; a new generation accepts them. Writes of older generations stay fenced. */
export async function resetTerm(
  api: Api,
  { params, actor }: Request<{ service: string }, unknown, unknown>,
): Promise<null> {
  const target = { collection: api.services, id: params.service, noun: 'service' }
  await changeDocument(target, api.clock, null, (term, now) => {
    const document = { ...term, epoch: 0, instance_id: '', generation: term.generation + 1 }
    return { document, entries: [auditEntry(actor, 'reset-term', now, { before: term, after: document })] }
  })
  return null
}

/** First of two checks of a controller's write; the second is inside the compare-and-set, against this number: `raiseDocumentFence`. */
export async function fenceOf(api: Api, service: string, epoch: number): Promise<number> {
  const term = await api.services.get(service)
  if (term !== null && epoch < term.epoch) throw stale(term, epoch)
  if (term?.epoch !== epoch) {
    throw new ProblemError(
      'term_not_registered',
      `epoch ${epoch} of ${service} was not registered; PUT /services/${service}/term first`,
    )
  }
  return fenceOfTerm(term)
}

export const fenceOfTerm = ({ generation, epoch }: ServiceTerm): number => generation * GENERATION_SPAN + epoch

/** Writer and fence of a fenced request. */
export interface Fenced {
  readonly actor: Actor
  readonly fence: number | null
}

/** Second check, inside the compare-and-set: a leader that was superseded between the two is refused here. */
export function raiseDocumentFence(document: { id: string; fence: Fence }, { actor, fence }: Fenced): Fence {
  const { service } = actor
  assert(service !== null && fence !== null, 'the route is fenced')
  const highest = document.fence[service] ?? 0
  if (fence < highest)
    throw new ProblemError('stale_leader', `a newer leader of ${service} has written ${document.id} already`)
  return fence === highest ? document.fence : { ...document.fence, [service]: fence }
}

/** Next term without etcd; it grows across restarts. */
export const nextEpoch = async (api: Api, service: string): Promise<number> =>
  1 + ((await api.services.get(service))?.epoch ?? 0)
