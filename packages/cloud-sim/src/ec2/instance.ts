import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import { type Ec2State, TAG } from '@lcm/domain/worker/ec2-instance'
import { type Addressing, addressOf, urlOf } from '../machine-addresses.ts'
import { entryAt, nextChangeMs, type TimelineEntry } from '../state-timeline.ts'
import type { BootMoment } from './boot-plan.ts'

export interface StateReason {
  readonly code: string
  readonly message: string
}

export interface StateMoment extends TimelineEntry {
  readonly state: Ec2State
  readonly reason: StateReason | null
}

/**
 * A machine as it is stored: timestamps, never a current state. The state follows from these and the wall clock, so it
 * advances even while the simulator is stopped.
 */
export interface SimInstance {
  /** Counts all launches of the simulated cloud; also the order of listings. */
  readonly number: number
  readonly instance_id: string
  readonly reservation_id: string
  readonly region: string
  readonly availability_zone: string
  readonly subnet_id: string
  readonly vpc_id: string
  readonly image_id: string
  readonly instance_type: string
  readonly client_token: string | null
  readonly tags: Readonly<Record<string, string>>
  /** EC2 doesn't know the id before this time. */
  readonly visible_from_ms: number
  /** EC2 shows a terminated machine until this time. */
  readonly fades_at_ms: number | null
  readonly started_at_ms: number
  readonly start_count: number
  readonly address_number: number
  readonly timeline: readonly StateMoment[]
  readonly boot: readonly BootMoment[]
  /** When a terminated machine loses its tags. */
  readonly tags_fade_at_ms?: number
  /** States that a stale read still shows, oldest first. */
  readonly before?: readonly Before[]
  readonly disable_api_termination?: boolean
  readonly disable_api_stop?: boolean
  /** False: the machine has only a private address. */
  readonly has_public_address?: boolean
  /** Time of the last reboot. */
  readonly rebooted_at_ms?: number
  readonly event?: ScheduledEvent
}

/** Earlier tags and address, for stale reads. */
export interface Before {
  readonly until_ms: number
  readonly tags: Readonly<Record<string, string>>
  readonly address_number: number
}

/** A scheduled event of EC2 for a machine. */
export interface ScheduledEvent {
  readonly event_id: string
  readonly code: 'instance-stop'
  readonly not_before_ms: number
  /** The event no longer applies: a stop and a start moved the machine. */
  readonly completed_at_ms: number | null
}

/** A machine at one instant. */
export interface MachineView {
  readonly instance: SimInstance
  readonly state: Ec2State
  readonly state_from_ms: number
  readonly state_reason: StateReason | null
  readonly public_ip: string | null
  readonly private_ip: string | null
  /** Address of its CML, or null. */
  readonly endpoint: string | null
  readonly stage: CmlStage
  readonly tags: Readonly<Record<string, string>>
}

const WITH_PUBLIC_ADDRESS: readonly Ec2State[] = ['running', 'stopping']

export function viewOf(instance: SimInstance, atMs: number, addressing: Addressing): MachineView {
  const moment = entryAt(instance.timeline, atMs)
  const tags = tagsAt(instance, atMs)
  const address = addressOf(lagging(instance, atMs)?.address_number ?? instance.address_number, addressing)
  const endpoint = WITH_PUBLIC_ADDRESS.includes(moment.state) ? urlOf(address) : null
  return {
    instance,
    state: moment.state,
    state_from_ms: moment.from_ms,
    state_reason: moment.reason,
    public_ip: endpoint === null || instance.has_public_address === false ? null : address.host,
    private_ip: isDead(moment.state) ? null : address.host,
    endpoint,
    stage: moment.state === 'running' ? entryAt(instance.boot, atMs).stage : 'NOTHING',
    tags: endpoint === null ? tags : { [TAG.endpoint]: endpoint, ...tags },
  }
}

const lagging = ({ before = [] }: SimInstance, atMs: number): Before | null =>
  before.find(({ until_ms }) => atMs < until_ms) ?? null

/** A terminated machine loses its tags before it disappears. */
export function tagsAt(instance: SimInstance, atMs: number): Readonly<Record<string, string>> {
  const { tags_fade_at_ms: fadeMs } = instance
  if (fadeMs !== undefined && fadeMs <= atMs) return NO_TAGS
  return lagging(instance, atMs)?.tags ?? instance.tags
}

const NO_TAGS: Readonly<Record<string, string>> = {}

const BEFORE_MAX = 4

/** Earlier tags and address to store with a machine whose tags or address change now. */
export function beforeNow(instance: SimInstance, nowMs: number): { readonly before: readonly Before[] } {
  const { tags, address_number, before = [] } = instance
  return { before: [...before, { until_ms: nowMs, tags, address_number }].slice(-BEFORE_MAX) }
}

export const stateAt = (instance: SimInstance, atMs: number): Ec2State => entryAt(instance.timeline, atMs).state

export const isDead = (state: Ec2State): boolean => state === 'shutting-down' || state === 'terminated'

export const isVisible = (instance: SimInstance, atMs: number): boolean =>
  instance.visible_from_ms <= atMs && !hasFaded(instance, atMs)

export const hasFaded = (instance: SimInstance, atMs: number): boolean =>
  instance.fades_at_ms !== null && instance.fades_at_ms <= atMs

/** When the machine or its CML next changes by itself. */
export function instanceChangesAtMs(instance: SimInstance, afterMs: number): number | null {
  const changes = [nextChangeMs(instance.timeline, afterMs), nextChangeMs(instance.boot, afterMs)]
  const known = changes.filter(change => change !== null)
  return known.length === 0 ? null : Math.min(...known)
}
