import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { withBoot } from '@lcm/domain/worker/boot'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aTemplate as anyTemplate, aWorker as anyWorker, someLaunchParameters } from '@lcm/testkit/builders'

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
    state_history: [{ from: null, to: 'PENDING', at: start, because: 'admin asked for it' }],
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
