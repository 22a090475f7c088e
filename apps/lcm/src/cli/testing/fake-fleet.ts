import type { FaultState, SimMachine } from '@lcm/client/sim-client'
import { aSimMachine } from '@lcm/client/testing/a-sim-machine'
import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf } from '@lcm/contract/routes'
import type { AuditEntry } from '@lcm/domain/decision'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import type { Replica, Service } from '../service/service-view.ts'
import type { Answer, Asked } from './fake-lablets.ts'
import { START_MS } from './samples.ts'

const AT = toInstant(START_MS)

export const aReplica = (more: Partial<Replica> = {}): Replica => ({
  id: `worker-controller:${more.instance_id ?? 'a'}`,
  service: 'worker-controller',
  instance_id: 'a',
  is_leader: true,
  epoch: 3,
  since: AT,
  software: '0.1.0',
  queue: { due: 1, active: 2 },
  retries: 4,
  watch: { healthy: true, age_seconds: 5 },
  last_sweep: AT,
  problems: [],
  seen_at: AT,
  ...more,
})

/** Led by the first of its replicas that says so. */
export function aService(service: string, instances: readonly Replica[] = [aReplica({ service })]): Service {
  const leader = instances.find(each => each.is_leader)
  return {
    service,
    leader: leader === undefined ? null : { instance_id: leader.instance_id, epoch: leader.epoch, since: leader.since },
    term: null,
    last_seen_at:
      instances
        .map(({ seen_at }) => seen_at)
        .toSorted()
        .at(-1) ?? null,
    instances: [...instances],
  }
}

export const aLeak = (more: Partial<LicenseLeak> = {}): LicenseLeak => ({
  id: 'll-1',
  version: 1,
  created_at: AT,
  updated_at: AT,
  worker_id: 'w-9',
  worker_name: 'metal-9',
  udi: 'udi-9',
  hostname: 'cml-9',
  product: 'CML_Enterprise',
  at: AT,
  reason: textReason('its machine was terminated by somebody else'),
  resolved_at: null,
  resolved_by: null,
  ...more,
})

export const anEntry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  id: 'a-1',
  at: AT,
  actor: { id: 'token:1', name: 'ann', role: 'operator' },
  action: 'stop',
  resource: 'worker:w-1',
  before: { desired_status: 'RUNNING' },
  after: { desired_status: 'STOPPED' },
  reason: 'over the weekend',
  ...more,
})

export const aMachine = (more: Partial<SimMachine> = {}): SimMachine =>
  aSimMachine({ instance_id: 'i-0123456789abcdef0', ...more })

/** What the API tells of the fleet as a whole, and the simulated cloud behind it. */
export interface FakeFleet {
  services: Service[]
  leaks: LicenseLeak[]
  /** Newest first. */
  audit: AuditEntry[]
  cost: AnswerOf<'getFleetCost'>
  info: AnswerOf<'info'>
  machines: SimMachine[]
  faults: FaultState
}

const CALM: FaultState['plan'] = { lost_answer_rate: 0, server_error_rate: 0, metric_delay_s: 60 }
const NOTHING = { boot: 0, session: 0, idle: 0, drain: 0, failed: 0, stopped: 0 }

export const fakeFleet = (): FakeFleet => ({
  services: [aService('worker-controller')],
  leaks: [],
  audit: [],
  cost: { at: AT, since: AT, spent_usd: 0, saved_usd: 0, by_cause: NOTHING, items: [] },
  info: {
    version: '0.1.0',
    profile: 'embedded',
    cloud: 'sim',
    regions: ['us-east-1'],
    sim_control: '/sim/v1',
    actor: { id: 'admin', name: 'admin', role: 'admin' },
  },
  machines: [],
  faults: { preset: 'calm', plan: CALM, scarce: [], scripted: [] },
})

/** Null for what is not about the fleet as a whole. A list comes in pages where the caller asks for few. */
export function answerFleet(fleet: FakeFleet, { method, path, query }: Asked): Answer | null {
  const [, kind, id] = path.split('/')
  switch (`${method} ${path}`) {
    case 'GET /services':
      return { status: 200, body: { items: fleet.services } }
    case 'GET /fleet/cost':
      return { status: 200, body: { ...fleet.cost, since: query.get('since') ?? AT } }
    case 'GET /info':
      return { status: 200, body: fleet.info }
    case 'GET /license-leaks':
      return { status: 200, list: fleet.leaks }
    case 'GET /audit':
      return { status: 200, body: auditPage(fleet, query) }
  }
  if (kind === 'license-leaks') {
    fleet.leaks = fleet.leaks.map(leak =>
      leak.id === id ? { ...leak, version: leak.version + 1, resolved_at: AT, resolved_by: 'ann' } : leak,
    )
    return { status: 202, body: fleet.leaks.find(leak => leak.id === id) }
  }
  const isAsk = kind === 'services' && method === 'POST'
  return isAsk ? { status: 202, body: { service: id, requested: true } } : null
}

/** The cursor is how many were told before. */
function auditPage({ audit }: FakeFleet, query: URLSearchParams) {
  const from = query.get('from') ?? ''
  const resource = query.get('resource')
  const found = audit.filter(entry => entry.at >= from && (resource === null || entry.resource === resource))
  const begin = Number(query.get('cursor') ?? 0)
  const end = begin + Number(query.get('limit'))
  return { items: found.slice(begin, end), next_cursor: end < found.length ? String(end) : null, revision: '0' }
}

/** The simulated cloud's own answers, below `/sim/v1`. */
export function answerSim(fleet: FakeFleet, { method, path, body }: Omit<Asked, 'query'>): Answer {
  if (fleet.info.actor.role !== 'admin') throw new ProblemError('forbidden', 'bob is user, which may not do this')
  const [, kind, id = '', verb = ''] = path.split('/')
  const given = JSON.parse(body ?? '{}')
  if (path === '/instances') return { status: 200, body: { items: fleet.machines } }
  if (path === '/presets') return { status: 200, body: { calm: CALM } }
  if (kind === 'faults') {
    fleet.faults = changedFaults(fleet.faults, `${method} ${id}`, given)
    return given.nonsense === undefined
      ? { status: 200, body: fleet.faults }
      : { status: 400, body: { code: 'invalid_faults', message: 'there is no fault "nonsense"' } }
  }
  const machine = fleet.machines.find(each => each.instance_id === id)
  if (machine === undefined)
    return { status: 404, body: { code: 'not_found', message: `there is no instance ${id}; others there are` } }
  const changed =
    verb === 'cml' ? { ...machine, cml_faults: given } : { ...machine, state: STATES[verb] ?? machine.state }
  fleet.machines = fleet.machines.map(each => (each === machine ? changed : each))
  return { status: 200, body: changed }
}

const STATES: Readonly<Record<string, SimMachine['state']>> = {
  stop: 'stopping',
  terminate: 'shutting-down',
  start: 'pending',
}

function changedFaults(faults: FaultState, route: string, given: Record<string, unknown>): FaultState {
  const { preset = faults.preset, ...plan } = given
  switch (route) {
    case 'PATCH ':
      return { ...faults, preset: String(preset), plan: { ...faults.plan, ...(plan as FaultState['plan']) } }
    case 'POST reset':
      return { ...faults, plan: CALM, scarce: [], scripted: [] }
    case 'POST next': {
      const { action, times, fault, error } = given as { action: string; times: number; fault?: string; error: never }
      return { ...faults, scripted: [...faults.scripted, { action, times, fault: fault ?? error }] }
    }
    default:
      return faults
  }
}
