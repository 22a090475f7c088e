import { createHash } from 'node:crypto'
import { freeCapacityFor, noCapacity, overQuota, quotaFor } from '../faults/ec2-capacity-and-quota.ts'
import type { SimState } from '../sim-state.ts'
import { checkUserData } from './check-user-data.ts'
import { imageToLaunch } from './images.ts'
import { type SimInstance, stateAt } from './instance.ts'
import { Ec2Refusal, invalidValue } from './refusal.ts'
import { checkOffered, isOffered, type Subnet, subnetOf } from './regions-and-instance-types.ts'
import { scaled, startPlan } from './start-plan.ts'
import { checkMetadataTags, checkTags, type Tags } from './tags.ts'

export interface RunRequest {
  readonly image_id: string
  readonly instance_type: string
  readonly subnet_id: string | null
  readonly client_token: string | null
  /** Maximum count: as many machines as there is capacity for. */
  readonly count: number
  /** Minimum count: no machine is launched below it. Defaults to `count`. */
  readonly min_count?: number
  /** In base64. */
  readonly user_data?: string | null
  readonly disable_api_termination?: boolean
  readonly disable_api_stop?: boolean
  /** Makes tags readable from the machine, which not every tag key allows. */
  readonly metadata_tags?: boolean
  readonly nested_virtualization: boolean
  /** False: no public address. Otherwise the subnet decides, which assigns one. */
  readonly has_public_address?: boolean
  readonly tags: Tags
  /** All parameters except the token; two requests are the same launch only if these are equal. */
  readonly canonical: string
}

const TOKEN_CHARS_MAX = 64
const COUNT_MAX = 1000

/** RunInstances: as many machines as fit between the two counts, or none. A repeated token returns its first launch. */
export function runInstances(sim: SimState, region: string, request: RunRequest): readonly SimInstance[] {
  checkToken(request.client_token)
  const subnet = subnetFor(sim, region, request)
  const key = tokenKey(region, subnet, request)
  const fingerprint = createHash('sha256').update(request.canonical).digest('hex')
  const replayed = key === null ? null : replay(sim, key, fingerprint)
  if (replayed) return replayed
  checkLaunch(region, subnet, request)
  const offering = { availability_zone: subnet.availability_zone, instance_type: request.instance_type }
  const length = countOf(sim, region, { request, offering })
  const instances = Array.from({ length }, (_, n) => newInstance(sim, region, { request, subnet, n }))
  const token = key === null ? {} : { token: { key, use: { fingerprint, instance_ids: instances.map(idOf) } } }
  sim.commit({ instances, ...token, records: sim.faults.capacityTaken(offering, length) })
  return instances
}

/** A request without a subnet gets one with capacity. */
function subnetFor(sim: SimState, region: string, { subnet_id, instance_type }: RunRequest): Subnet {
  const suits = ({ availability_zone }: Subnet) =>
    isOffered(instance_type, availability_zone) && freeCapacityFor(sim, { availability_zone, instance_type }) > 0
  return subnetOf(region, subnet_id, suits)
}

interface LaunchRequest {
  readonly request: RunRequest
  readonly offering: { readonly availability_zone: string; readonly instance_type: string }
}

function countOf(sim: SimState, region: string, { request, offering }: LaunchRequest): number {
  const least = request.min_count ?? request.count
  const allowed = quotaFor(sim, region, request.instance_type)
  if (allowed < least) throw overQuota(sim)
  const free = freeCapacityFor(sim, offering)
  if (free < least) throw noCapacity(sim, region, offering)
  return Math.min(request.count, allowed, free)
}

const idOf = (instance: SimInstance) => instance.instance_id

function checkToken(token: string | null): void {
  if (token !== null && token.length > TOKEN_CHARS_MAX) {
    throw invalidValue(`Invalid value '${token}' for clientToken. Token must be at most ${TOKEN_CHARS_MAX} characters.`)
  }
}

/** Zonal when the request names a subnet: the same token in another zone launches a second machine. */
function tokenKey(region: string, subnet: Subnet, request: RunRequest): string | null {
  if (request.client_token === null) return null
  return [region, request.subnet_id === null ? '' : subnet.availability_zone, request.client_token].join('/')
}

function replay(sim: SimState, key: string, fingerprint: string): readonly SimInstance[] | null {
  const use = sim.tokens.get(key)
  if (!use) return null
  if (use.fingerprint !== fingerprint) {
    throw new Ec2Refusal(
      'IdempotentParameterMismatch',
      'Arguments on this idempotent request are inconsistent with arguments used in previous request(s).',
    )
  }
  const known = use.instance_ids.flatMap(id => sim.instances.get(id) ?? [])
  if (known.some(instance => stateAt(instance, sim.now()) !== 'terminated')) return known
  if (known.length > 0 && sim.faults.plan().token_of_terminated === 'answered') return known
  throw new Ec2Refusal(
    'IdempotentInstanceTerminated',
    'The client token you have provided is associated with a terminated instance. Please use a different client token.',
  )
}

function checkLaunch(region: string, subnet: Subnet, request: RunRequest): void {
  imageToLaunch(region, request.image_id)
  checkOffered(request.instance_type, subnet.availability_zone, request.nested_virtualization)
  checkTags(request.tags)
  if (request.metadata_tags) checkMetadataTags(request.tags)
  checkUserData(request.user_data ?? null)
  const { min_count: least = request.count } = request
  if (!Number.isInteger(least) || least < 1 || least > request.count) {
    throw invalidValue(`Value (${least}) for parameter minCount is invalid. It must be between 1 and maxCount.`)
  }
  if (!Number.isInteger(request.count) || request.count < 1 || request.count > COUNT_MAX) {
    throw invalidValue(`Value (${request.count}) for parameter maxCount is invalid.`)
  }
}

interface Launch {
  readonly request: RunRequest
  readonly subnet: Subnet
  /** Index of the machine within this launch. */
  readonly n: number
}

function newInstance(sim: SimState, region: string, { request, subnet, n }: Launch): SimInstance {
  const number = sim.launchCount() + n
  const unknownS = sim.faults.plan().unknown_at_first_s * sim.chance.fraction('unknown', number)
  return {
    number,
    instance_id: `i-0${sim.chance.hex(16, 'instance', number)}`,
    reservation_id: `r-0${sim.chance.hex(16, 'reservation', sim.launchCount())}`,
    region,
    availability_zone: subnet.availability_zone,
    subnet_id: subnet.subnet_id,
    vpc_id: subnet.vpc_id,
    image_id: request.image_id,
    instance_type: request.instance_type,
    client_token: request.client_token,
    tags: request.tags,
    visible_from_ms: sim.now() + scaled(sim, unknownS),
    fades_at_ms: null,
    disable_api_termination: request.disable_api_termination ?? false,
    disable_api_stop: request.disable_api_stop ?? false,
    ...(request.has_public_address === false ? { has_public_address: false } : {}),
    ...startPlan(sim, { number, instance_type: request.instance_type, start_count: 1 }, n),
  }
}
