import { createHash } from 'node:crypto'
import { type SecondsRange, within } from '../chance.ts'
import type { World } from '../world.ts'
import { bootPlan } from './boot.ts'
import { imageToLaunch } from './images.ts'
import { type SimInstance, type StateMoment, stateAt } from './instance.ts'
import { checkOffered, isMetal, type Subnet, subnetOf } from './places.ts'
import { Ec2Refusal, invalidValue } from './refusal.ts'
import { checkTags, type Tags } from './tags.ts'

export interface RunRequest {
  readonly image_id: string
  readonly instance_type: string
  readonly subnet_id: string | null
  readonly client_token: string | null
  readonly count: number
  readonly nested_virtualization: boolean
  readonly tags: Tags
  /** All parameters but the token as text; two requests are the same launch only if these are equal. */
  readonly canonical: string
}

const TOKEN_CHARS_MAX = 64
const COUNT_MAX = 1000
const PENDING: SecondsRange = [30, 90]
/** How long EC2 may not know the id that it has just given out. */
const UNKNOWN_AT_FIRST: SecondsRange = [0, 2]

/** RunInstances: all the machines asked for or none. A token that was used answers what it launched. */
export function runInstances(world: World, region: string, request: RunRequest): readonly SimInstance[] {
  checkToken(request.client_token)
  const subnet = subnetOf(region, request.subnet_id)
  const key = tokenKey(region, subnet, request)
  const fingerprint = createHash('sha256').update(request.canonical).digest('hex')
  const replayed = key === null ? null : replay(world, key, fingerprint)
  if (replayed) return replayed
  checkLaunch(region, subnet, request)
  const instances = Array.from({ length: request.count }, (_, n) => newInstance(world, region, { request, subnet, n }))
  const token = key === null ? {} : { token: { key, use: { fingerprint, instance_ids: instances.map(idOf) } } }
  world.commit({ instances, ...token })
  return instances
}

const idOf = (instance: SimInstance) => instance.instance_id

function checkToken(token: string | null): void {
  if (token !== null && token.length > TOKEN_CHARS_MAX) {
    throw invalidValue(`Invalid value '${token}' for clientToken. Token must be at most ${TOKEN_CHARS_MAX} characters.`)
  }
}

/** Zonal when the request names a subnet: the same token elsewhere launches a second machine. */
function tokenKey(region: string, subnet: Subnet, request: RunRequest): string | null {
  if (request.client_token === null) return null
  return [region, request.subnet_id === null ? '' : subnet.availability_zone, request.client_token].join('/')
}

function replay(world: World, key: string, fingerprint: string): readonly SimInstance[] | null {
  const use = world.tokens.get(key)
  if (!use) return null
  if (use.fingerprint !== fingerprint) {
    throw new Ec2Refusal(
      'IdempotentParameterMismatch',
      'Arguments on this idempotent request are inconsistent with arguments used in previous request(s).',
    )
  }
  const known = use.instance_ids.flatMap(id => world.instances.get(id) ?? [])
  if (known.some(instance => stateAt(instance, world.now()) !== 'terminated')) return known
  throw new Ec2Refusal(
    'IdempotentInstanceTerminated',
    'The client token you have provided is associated with a terminated instance. Please use a different client token.',
  )
}

function checkLaunch(region: string, subnet: Subnet, request: RunRequest): void {
  imageToLaunch(region, request.image_id)
  checkOffered(request.instance_type, subnet.availability_zone, request.nested_virtualization)
  checkTags(request.tags)
  if (!Number.isInteger(request.count) || request.count < 1 || request.count > COUNT_MAX) {
    throw invalidValue(`Value (${request.count}) for parameter maxCount is invalid.`)
  }
}

interface Launch {
  readonly request: RunRequest
  readonly subnet: Subnet
  /** Which of the machines of this launch. */
  readonly n: number
}

function newInstance(world: World, region: string, { request, subnet, n }: Launch): SimInstance {
  const number = world.launchCount() + n
  const nowMs = world.now()
  const unknownS = within(UNKNOWN_AT_FIRST, world.chance.fraction('unknown', number))
  return {
    number,
    instance_id: `i-0${world.chance.hex(16, 'instance', number)}`,
    reservation_id: `r-0${world.chance.hex(16, 'reservation', world.launchCount())}`,
    region,
    availability_zone: subnet.availability_zone,
    subnet_id: subnet.subnet_id,
    vpc_id: subnet.vpc_id,
    image_id: request.image_id,
    instance_type: request.instance_type,
    client_token: request.client_token,
    tags: request.tags,
    visible_from_ms: nowMs + scaled(world, unknownS),
    fades_at_ms: null,
    ...startPlan(world, { number, instance_type: request.instance_type, start_count: 1 }, n),
  }
}

export type StartPlan = Pick<SimInstance, 'started_at_ms' | 'start_count' | 'address_number' | 'timeline' | 'boot'>

/** How a machine comes up that is started now, for the first time or again. `ahead` counts starts of the same act. */
export function startPlan(
  world: World,
  machine: Pick<SimInstance, 'number' | 'instance_type' | 'start_count'>,
  ahead: number,
): StartPlan {
  const { number, start_count } = machine
  const nowMs = world.now()
  const pendingS = within(PENDING, world.chance.fraction('pending', number, start_count))
  const runningMs = nowMs + scaled(world, pendingS)
  const timeline: readonly StateMoment[] = [
    { state: 'pending', from_ms: nowMs, reason: null },
    { state: 'running', from_ms: runningMs, reason: null },
  ]
  const boot = bootPlan({
    running_from_ms: runningMs,
    metal: isMetal(machine.instance_type),
    first: start_count === 1,
    speed: world.speed,
    fraction: step => world.chance.fraction('boot', number, start_count, step),
  })
  return { started_at_ms: nowMs, start_count, address_number: world.addressAhead(ahead), timeline, boot }
}

export const scaled = (world: World, seconds: number): number => Math.round((seconds * 1000) / world.speed)
