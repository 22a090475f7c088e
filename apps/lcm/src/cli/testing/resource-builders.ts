import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import type { LicenseLeak } from '@lcm/domain/fleet/license-leak'
import { toInstant } from '@lcm/domain/instant'
import type { AuditEntry } from '@lcm/domain/journal-records'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { textReason } from '@lcm/domain/reason'
import type { ServiceInstance } from '@lcm/domain/service-instance'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { begun, concluded, newPipeline, PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { withBoot } from '@lcm/domain/worker/boot-stages'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'
import {
  anAttempt,
  aDefinition as anyDefinition,
  aLabRecord as anyLab,
  aSession as anySession,
  aTemplate as anyTemplate,
  aWorker as anyWorker,
  someLaunchParameters,
} from '@lcm/testkit/test-data-builders'

/** When the manual clock begins. */
export const START_MS = Date.UTC(2026, 0, 1)

const start = toInstant(START_MS)

const since = { created_at: start, updated_at: start }

export const aWorker = (changes: Partial<Worker> = {}): Worker =>
  anyWorker({
    ...since,
    id: 'w-0abcdefgh0001',
    entered_status_at: start,
    cost_per_hour_usd: 3.96,
    state_history: [{ from: null, to: 'PENDING', at: start, because: textReason('requested by admin') }],
    ...changes,
  })

export const aRunningWorker = (changes: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    ec2_instance_id: 'i-0123456789abcdef0',
    launch: aLaunch({ state: 'launched' }),
    instance_type: 'm5zn.metal',
    public_ip: '203.0.113.7',
    private_ip: '10.0.0.7',
    https_endpoint: 'https://203.0.113.7',
    conditions: withBoot([], 6, START_MS),
    ...changes,
  })

export const aLaunch = (changes: Partial<LaunchAttempt> = {}): LaunchAttempt =>
  anAttempt({
    parameters: someLaunchParameters({ subnet_id: 'subnet-1' }),
    requested_at: start,
    state: 'open',
    ...changes,
  })

export const aTemplate = (changes: Partial<WorkerTemplate> = {}): WorkerTemplate =>
  anyTemplate({
    ...since,
    id: 'wt-0abcdefgh0001',
    description: 'bare metal',
    instance_types: ['m5zn.metal'],
    cost_per_hour_usd: 3.96,
    ...changes,
  })

/** A lab that CML can import. */
export const LAB = `lab: { version: 0.3.0, title: BGP }
nodes: [{ id: n0, label: r1, node_definition: alpine, x: 0, y: 0 }]
links: []
`

export const aDefinition = (changes: Partial<LabletDefinition> = {}): LabletDefinition =>
  anyDefinition({ ...since, topology: LAB, ...changes })

/** For the hour that begins when the clock does. */
export const aSession = (changes: Partial<LabletSession> = {}): LabletSession =>
  anySession({
    ...since,
    timeslot: { start, end: toInstant(START_MS + 3_600_000) },
    entered_status_at: start,
    state_history: [{ from: null, to: 'PENDING', at: start, because: textReason('ann booked it') }],
    ...changes,
  })

/** One whose lab is being started and has `done` steps behind it, each of ten seconds. */
export function anInstantiatingSession(done: number, changes: Partial<LabletSession> = {}): LabletSession {
  const instantAt = (step: number) => toInstant(START_MS + step * 10_000)
  let pipeline = newPipeline('instantiate', 1)
  for (const [at, plan] of PIPELINE_STEPS.instantiate.slice(0, done + 1).entries()) {
    pipeline = begun(pipeline, plan, instantAt(at))
    if (at < done) pipeline = concluded(pipeline, plan, { kind: 'completed' }, instantAt(at + 1)) ?? pipeline
  }
  return aSession({ status: 'INSTANTIATING', worker_id: 'w-0abcdefgh0001', pipeline, ...changes })
}

export const aReadySession = (changes: Partial<LabletSession> = {}): LabletSession =>
  anInstantiatingSession(PIPELINE_STEPS.instantiate.length, {
    status: 'READY',
    lab_record_id: 'lr-1',
    access: [
      { name: 'r1_serial', node: 'r1', protocol: 'serial', inside: null, host: '203.0.113.7', port: 2000 },
      { name: 'web_tcp_80', node: 'web', protocol: 'tcp', inside: 80, host: '203.0.113.7', port: 2001 },
    ],
    ...changes,
  })

export const aLab = (changes: Partial<LabRecord> = {}): LabRecord =>
  anyLab({
    ...since,
    worker_id: 'w-0abcdefgh0001',
    title: 'BGP basics',
    first_seen_at: start,
    last_seen_at: start,
    ...changes,
  })

/** A heartbeat of the leader of the worker-controller. */
export const aReplica = (more: Partial<ServiceInstance> = {}): ServiceInstance => ({
  id: `${more.service ?? 'worker-controller'}:${more.instance_id ?? 'a'}`,
  version: 1,
  service: 'worker-controller',
  instance_id: 'a',
  is_leader: true,
  epoch: 3,
  since: start,
  software: '0.1.0',
  queue: { due: 1, active: 2 },
  retries: 4,
  watch: { healthy: true, age_seconds: 5 },
  last_sweep: start,
  plan: [],
  problems: [],
  seen_at: start,
  unbroken_since: start,
  ...more,
})

export const aLeak = (more: Partial<LicenseLeak> = {}): LicenseLeak => ({
  ...since,
  id: 'll-1',
  version: 1,
  worker_id: 'w-9',
  worker_name: 'metal-9',
  udi: 'udi-9',
  hostname: 'cml-9',
  product: 'CML_Enterprise',
  at: start,
  reason: textReason('its machine was terminated outside LCM'),
  resolved_at: null,
  resolved_by: null,
  ...more,
})

export const anEntry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  id: 'a-1',
  at: start,
  actor: { id: 'token:1', name: 'ann', role: 'operator' },
  action: 'stop',
  resource: 'worker:w-1',
  before: { desired_status: 'RUNNING' },
  after: { desired_status: 'STOPPED' },
  reason: 'over the weekend',
  ...more,
})
