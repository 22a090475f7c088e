import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import type { ServiceTerm } from '@lcm/domain/fencing'
import { toInstant } from '@lcm/domain/instant'
import type { Api, Request } from '../api.ts'
import { changeDocument } from './change.ts'

/** Larger than any epoch within one generation: etcd would need centuries to count so far. */
const GENERATION_SPAN = 1e12

type TermRequest = Request<{ service: string }, undefined, BodyOf<'registerTerm'>>

/** A new leader makes itself known before it writes anything. From then on every older one is refused. */
export async function registerTerm(api: Api, request: TermRequest): Promise<ServiceTerm> {
  const { service } = request.params
  if (request.actor.service !== service)
    throw new ProblemError('forbidden', `${request.actor.name} does not belong to ${service}`)
  await openTerms(api, service)
  const target = { collection: api.terms, id: service, noun: 'service' }
  return changeDocument(target, api.clock, null, term => {
    const { epoch, instance_id } = request.body
    if (epoch === term.epoch && instance_id === term.instance_id) return term
    if (epoch <= term.epoch) throw stale(term, epoch)
    return { ...term, epoch, instance_id }
  })
}

async function openTerms(api: Api, service: string): Promise<void> {
  const now = toInstant(api.clock.now())
  const first = { id: service, version: 1, created_at: now, updated_at: now, epoch: 0, instance_id: '', generation: 0 }
  if ((await api.terms.get(service)) === null) await api.terms.insert(first)
}

function stale(term: ServiceTerm, epoch: number): ProblemError {
  const leads = `${term.instance_id || 'nobody'} leads by epoch ${term.epoch}`
  const remedy = `If the epochs began anew, run: lcm services reset-term ${term.id}`
  return new ProblemError('stale_leader', `epoch ${epoch} of ${term.id} is over: ${leads}. ${remedy}`)
}

/** After an etcd was rebuilt its epochs begin anew; this makes room for them. What older generations wrote stays behind. */
export async function resetTerm(api: Api, service: string): Promise<null> {
  const target = { collection: api.terms, id: service, noun: 'service' }
  await changeDocument(target, api.clock, null, term => ({
    ...term,
    epoch: 0,
    instance_id: '',
    generation: term.generation + 1,
  }))
  return null
}

/** The first of the two checks of a controller's write; the second is inside the compare-and-set, against this number. */
export async function fenceOf(api: Api, service: string, epoch: number): Promise<number> {
  const term = await api.terms.get(service)
  if (term !== null && epoch < term.epoch) throw stale(term, epoch)
  if (term?.epoch !== epoch) {
    throw new ProblemError(
      'term_not_registered',
      `epoch ${epoch} of ${service} was not registered; PUT /services/${service}/term first`,
    )
  }
  return term.generation * GENERATION_SPAN + epoch
}

/** What the next term without etcd must be, so that it grows over restarts. */
export const nextEpoch = async (api: Api, service: string): Promise<number> =>
  1 + ((await api.terms.get(service))?.epoch ?? 0)
