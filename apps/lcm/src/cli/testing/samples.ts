import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { toInstant } from '@lcm/domain/instant'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { textReason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { begun, concluded, newPipeline, PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { withBoot } from '@lcm/domain/worker/boot'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'
import {
  anAttempt,
  aDefinition as anyDefinition,
  aLabRecord as anyLab,
  aSession as anySession,
  aTemplate as anyTemplate,
  aWorker as anyWorker,
  someLaunchParameters,
} from '@lcm/testkit/builders'

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
    state_history: [{ from: null, to: 'PENDING', at: start, because: textReason('admin asked for it') }],
    ...changes,
  })

export const aRunningWorker = (changes: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    ec2_instance_id: 'i-0123456789abcdef0',
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

export const aDefinition = (changes: Partial<LabletDefinition> = {}): LabletDefinition =>
  anyDefinition({ ...since, topology: 'lab: {}', ...changes })

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
