import type { Compute, Image, InstanceFilter, LaunchRequest, PowerAction } from '@lcm/cloud/compute'
import { CloudError, type CloudErrorClass } from '@lcm/cloud/errors'
import type { Instance } from '@lcm/domain/worker/ec2-instance'
import type { Clock } from '@lcm/runtime/clock'

/** Durations of each change in this cloud, in milliseconds. */
const TAKES_MS = { boot: 30_000, stop: 60_000, force_stop: 10_000, terminate: 30_000 } as const
/** A terminated machine stays visible for an hour. */
const SHOWN_MS = 60 * 60_000

const TYPES: Readonly<Record<string, { readonly isNested: boolean; readonly zones: readonly string[] }>> = {
  'tiny.metal': { isNested: false, zones: ['a', 'b'] },
  'tiny.rare': { isNested: false, zones: ['b'] },
}
const SUBNET = /^subnet-(?<region>[a-z]+)-(?<zone>[ab])$/
export const OWNER = 'tiny-cloud'
const IMAGES: readonly (Image & { readonly owner: string; readonly isAvailable: boolean })[] = [
  image(1, { created_at: '2026-01-01T00:00:00Z' }),
  image(2, { created_at: '2026-02-01T00:00:00Z' }),
  image(3, { created_at: '2026-03-01T00:00:00Z', owner: 'another-owner' }),
  image(4, { created_at: '2026-04-01T00:00:00Z', isAvailable: false }),
]
export const NEWEST_IMAGE = { name: 'tiny-cml-2', created_at: '2026-02-01T00:00:00Z' } as const

function image(n: number, more: { created_at: string; owner?: string; isAvailable?: boolean }) {
  const image_id = `ami-${String(n).padStart(17, '0')}`
  return { image_id, name: `tiny-cml-${n}`, root_device: '/dev/sda1', owner: OWNER, isAvailable: true, ...more }
}

interface Machine {
  readonly id: string
  readonly region: string
  readonly zone: string
  readonly request: LaunchRequest
  tags: Readonly<Record<string, string>>
  state: 'running' | 'stopped' | 'terminated'
  /** The time at which `state` is reached; until then the machine is in transition. */
  settledAt: number
  startedAt: number
  /** Number of starts. Each start gives the machine a new address. */
  starts: number
}

/** A made-up cloud in memory that implements the compute port. A real one would send requests instead. */
export function tinyCloud(clock: Clock): Compute {
  const machines = new Map<string, Machine>()
  const now = () => clock.now()
  const visible = (region: string): Machine[] =>
    [...machines.values()].filter(each => each.region === region && !isForgotten(each, now()))
  const find = (region: string, id: string): Machine => {
    const found = visible(region).find(each => each.id === id)
    return found ?? refuse('not_found', `there is no machine ${id}`)
  }
  return {
    async list(region, filter, signal) {
      checkSignal(signal)
      if ('tags' in filter && Object.keys(filter.tags).length === 0 && filter.client_token === undefined)
        refuse('invalid', 'an empty filter would list foreign machines')
      return visible(region)
        .filter(matches(filter))
        .map(each => shown(each, now()))
    },
    async describe(region, ids, signal) {
      checkSignal(signal)
      const found = visible(region).filter(({ id }) => ids.includes(id))
      const known = new Set(found.map(({ id }) => id))
      return { found: found.map(each => shown(each, now())), missing: ids.filter(id => !known.has(id)) }
    },
    async newestImage(_region, { name_pattern, owner }, signal) {
      checkSignal(signal)
      const fitting = IMAGES.filter(each => each.owner === owner && each.isAvailable && isLike(each.name, name_pattern))
      return fitting.toSorted((a, b) => b.created_at.localeCompare(a.created_at))[0] ?? null
    },
    async imageIds(_region, namePattern, signal) {
      checkSignal(signal)
      return IMAGES.filter(({ name }) => isLike(name, namePattern)).map(({ image_id }) => image_id)
    },
    async launch(region, request, signal) {
      checkSignal(signal)
      const zone = checkLaunch(region, request)
      const before = [...machines.values()].find(
        each => each.request.client_token === request.client_token && each.zone === zone && each.region === region,
      )
      if (before !== undefined) return repeated(before, request, now())
      const id = `i-${String(machines.size + 1).padStart(17, '0')}`
      const { tags } = request.parameters
      const state = { state: 'running', settledAt: now() + TAKES_MS.boot, startedAt: now(), starts: 1 } as const
      const machine: Machine = { id, region, zone, request, tags, ...state }
      machines.set(id, machine)
      return shown(machine, now())
    },
    async power(region, act, ids, signal) {
      checkSignal(signal)
      const named = ids.map(id => find(region, id))
      for (const machine of named) change(machine, act, now())
      return new Map(named.map(machine => [machine.id, stateOf(machine, now())]))
    },
    async tag(region, id, tags, signal) {
      checkSignal(signal)
      const machine = find(region, id)
      machine.tags = { ...machine.tags, ...tags }
    },
  }
}

function refuse(errorClass: CloudErrorClass, message: string): never {
  throw new CloudError(errorClass, { code: errorClass, action: 'tiny-cloud', message })
}

function checkSignal(signal: AbortSignal): void {
  if (signal.aborted) refuse('transient', 'the call was aborted')
}

const isForgotten = ({ state, settledAt }: Machine, nowMs: number): boolean =>
  state === 'terminated' && nowMs >= settledAt + SHOWN_MS

/** `*` and `?` are wildcards; everything else stands for itself. */
function isLike(text: string, pattern: string): boolean {
  const escaped = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.')
  return new RegExp(`^${escaped}$`).test(text)
}

const matches =
  (filter: InstanceFilter) =>
  ({ tags, request }: Machine): boolean => {
    if ('tag_keys' in filter) return filter.tag_keys.some(key => key in tags)
    if ('image_ids' in filter) return filter.image_ids.includes(request.parameters.image_id)
    const isToken = filter.client_token === undefined || filter.client_token === request.client_token
    return isToken && Object.entries('tags' in filter ? filter.tags : {}).every(([key, value]) => tags[key] === value)
  }

/** The zone of the subnet. Refuses requests that can never succeed. */
function checkLaunch(region: string, { parameters }: LaunchRequest): string {
  const { image_id, instance_type, subnet_id, nested_virtualization } = parameters
  const subnet = SUBNET.exec(subnet_id)?.groups
  const type = TYPES[instance_type]
  if (subnet?.region !== region || subnet.zone === undefined) return refuse('invalid', `there is no ${subnet_id}`)
  if (!IMAGES.some(each => each.image_id === image_id)) refuse('invalid', `there is no ${image_id}`)
  if (type === undefined) return refuse('invalid', `there is no type ${instance_type}`)
  if (nested_virtualization && !type.isNested) refuse('invalid', `${instance_type} has no nested virtualization`)
  if (!type.zones.includes(subnet.zone)) refuse('capacity', `${instance_type} is not offered in zone ${subnet.zone}`)
  return subnet.zone
}

/** The answer to a token that was used before: the same machine, and never a second one. */
function repeated(machine: Machine, request: LaunchRequest, nowMs: number): Instance {
  if (machine.state === 'terminated') refuse('attempt_spent', `${machine.id} is dead`)
  if (sorted(machine.request.parameters) !== sorted(request.parameters))
    refuse('attempt_mismatch', `the token launched ${machine.id} with other parameters`)
  return shown(machine, nowMs)
}

const sorted = (value: object): string =>
  JSON.stringify(value, (_, each: unknown) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => a.localeCompare(b)))
      : each,
  )

function change(machine: Machine, act: PowerAction, nowMs: number): void {
  const state = stateOf(machine, nowMs)
  if (act === 'terminate') arrive(machine, 'terminated', nowMs + TAKES_MS.terminate)
  else if (act === 'start') start(machine, state, nowMs)
  else if (!['running', 'stopping', 'stopped'].includes(state)) refuse('state', `${machine.id} is ${state}`)
  else if (state === 'running') arrive(machine, 'stopped', nowMs + TAKES_MS[act])
  else machine.settledAt = Math.min(machine.settledAt, nowMs + TAKES_MS[act])
}

function start(machine: Machine, state: string, nowMs: number): void {
  if (state === 'running' || state === 'pending') return
  if (state !== 'stopped') refuse('state', `${machine.id} is ${state}`)
  machine.startedAt = nowMs
  machine.starts += 1
  arrive(machine, 'running', nowMs + TAKES_MS.boot)
}

function arrive(machine: Machine, state: Machine['state'], atMs: number): void {
  if (machine.state === state) return
  machine.state = state
  machine.settledAt = atMs
}

const ON_THE_WAY = { running: 'pending', stopped: 'stopping', terminated: 'shutting-down' } as const
const stateOf = ({ state, settledAt }: Machine, nowMs: number): string =>
  nowMs >= settledAt ? state : ON_THE_WAY[state]

function shown(machine: Machine, nowMs: number): Instance {
  const { id, region, zone, request, startedAt, starts } = machine
  const state = stateOf(machine, nowMs)
  const isOn = state === 'running'
  return {
    instance_id: id,
    state,
    state_reason: machine.state === 'stopped' ? 'Client.UserInitiatedShutdown' : null,
    instance_type: request.parameters.instance_type,
    image_id: request.parameters.image_id,
    availability_zone: `${region}-${zone}`,
    public_ip: isOn ? `203.0.${starts}.${Number(id.slice(2)) % 250}` : null,
    private_ip: `10.0.0.${Number(id.slice(2)) % 250}`,
    public_dns: null,
    private_dns: null,
    launched_at: new Date(startedAt).toISOString(),
    client_token: request.client_token,
    tags: machine.tags,
  }
}
