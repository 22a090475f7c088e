import type { SimState } from '../sim-state.ts'
import { candidatesOf, checkIdsOrPages } from './describe-instances.ts'
import { type Filter, filterTest, type Page, type PageRequest, pageOf } from './filters-and-paging.ts'
import { isVisible, type ScheduledEvent, type SimInstance, stateAt } from './instance.ts'
import { Ec2Refusal } from './refusal.ts'
import { regionNamed } from './regions-and-instance-types.ts'

export interface StatusQuery extends PageRequest {
  readonly instance_ids: readonly string[]
  readonly filters: readonly Filter[]
  /** False: running machines only. */
  readonly include_all: boolean
}

export interface MachineStatus {
  readonly instance: SimInstance
  readonly state: string
  readonly checks: 'ok' | 'initializing' | 'not-applicable'
  readonly event: (ScheduledEvent & { readonly description: string }) | null
}

const IDS_MAX = 100
const EVENT_KEPT_MS = 7 * 86_400_000
const DESCRIPTION = 'The instance is running on degraded hardware'

/** DescribeInstanceStatus. Checks on bare metal finish only after the hardware is verified, minutes after `running`. */
export function describeStatus(sim: SimState, region: string, query: StatusQuery): Page<MachineStatus> {
  regionNamed(region)
  checkIdsOrPages(query)
  if (query.instance_ids.length > IDS_MAX) {
    throw new Ec2Refusal('InvalidParameterValue', `At most ${IDS_MAX} instance ids may be named in one request`)
  }
  const test = filterTest(query.filters)
  const found = candidatesOf(sim, region, query)
    .filter(instance => isVisible(instance, sim.now()))
    .map(instance => statusOf(sim, instance))
    .filter(status => query.include_all || status.state === 'running')
    .filter(status => test(name => valuesOf(status, name)))
  return pageOf(found, status => status.instance.number, query)
}

function statusOf(sim: SimState, instance: SimInstance): MachineStatus {
  const nowMs = sim.now()
  const state = stateAt(instance, nowMs)
  return {
    instance,
    state,
    checks: state === 'running' ? checksAt(instance, nowMs) : 'not-applicable',
    event: eventAt(instance, nowMs),
  }
}

/** The machine responds once its operating system is up. */
function checksAt({ boot, rebooted_at_ms = 0, started_at_ms }: SimInstance, nowMs: number): 'ok' | 'initializing' {
  const sinceMs = Math.max(started_at_ms, rebooted_at_ms)
  const upMs = boot.find(moment => moment.from_ms >= sinceMs && moment.stage !== 'NOTHING')?.from_ms
  return upMs !== undefined && upMs <= nowMs ? 'ok' : 'initializing'
}

function eventAt({ event }: SimInstance, nowMs: number): MachineStatus['event'] {
  if (!event) return null
  const doneMs = event.completed_at_ms ?? event.not_before_ms
  if (doneMs > nowMs) return { ...event, description: DESCRIPTION }
  return doneMs + EVENT_KEPT_MS > nowMs ? { ...event, description: `[Completed] ${DESCRIPTION}` } : null
}

function valuesOf(status: MachineStatus, filterName: string): readonly string[] | null {
  switch (filterName) {
    case 'instance-state-name':
      return [status.state]
    case 'instance-status.status':
    case 'system-status.status':
      return [status.checks]
    case 'instance-status.reachability':
    case 'system-status.reachability':
      return [reachabilityOf(status.checks)]
    case 'event.code':
      return status.event ? [status.event.code] : []
    case 'event.description':
      return status.event ? [status.event.description] : []
    case 'availability-zone':
      return [status.instance.availability_zone]
    default:
      return null
  }
}

export const reachabilityOf = (checks: MachineStatus['checks']): string => {
  if (checks === 'ok') return 'passed'
  return checks === 'initializing' ? 'initializing' : 'insufficient-data'
}
