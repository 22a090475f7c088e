import type { WorkerSample } from '@lcm/contract/worker'
import { toInstant } from '@lcm/domain/instant'
import { reason, textReason } from '@lcm/domain/reason'
import { BOOT_CONDITIONS } from '@lcm/domain/worker/boot-stages'
import type { StateChange, Worker } from '@lcm/domain/worker/worker'
import { anAttempt, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'

const MINUTE_MS = 60_000
const HISTORY: readonly [StateChange['from'], StateChange['to'], string][] = [
  [null, 'PENDING', 'created'],
  ['PENDING', 'PROVISIONING', 'launch attempt 1 is open'],
  ['PROVISIONING', 'STARTING', 'EC2 says pending'],
  ['STARTING', 'RUNNING', 'CML says that it is ready'],
  ['RUNNING', 'STOPPING', 'idle since 40 min, which is more than 30 min'],
  ['STOPPING', 'STOPPED', 'EC2 says stopped'],
  ['STOPPED', 'STARTING', 'admin wants it RUNNING'],
  ['STARTING', 'RUNNING', 'CML says that it is ready'],
]
const NODE_DEFINITIONS = ['iosv', 'iosvl2', 'iol-xe', 'ioll2-xe', 'asav', 'csr1000v', 'cat8000v', 'nxosv9000', 'ubuntu']

export const workerId = (index: number): string => `w-${String(index).padStart(13, '0')}`
const hex = (index: number, digits: number): string => index.toString(16).padStart(digits, '0')
const address = (first: number, index: number): string => `${first}.${index >> 16}.${(index >> 8) & 255}.${index & 255}`

/** A worker with the history of one day, about 3 KB of JSON. */
export function livedWorker(index: number, nowMs: number): Worker {
  const at = (minutesAgo: number) => toInstant(nowMs - minutesAgo * MINUTE_MS - index)
  const id = workerId(index)
  const launch = { instance_type: 'm5zn.metal', image_id: 'ami-0a1b2c3d4e5f60718' }
  const tags = {
    Name: `metal-${index}`,
    'lcm:worker_id': id,
    'lcm:template_name': 'metal',
    'lcm:fleet': 'lcm-0a1b2c3d',
  }
  return aWorker({
    id,
    version: 14,
    created_at: at(1440),
    updated_at: at(30),
    name: `metal-${index}`,
    aws_region: index % 3 === 0 ? 'eu-west-1' : 'us-east-1',
    tags: { owner: `team-${index % 40}`, 'cost-center': `cc-${index % 17}` },
    labels: { environment: index % 2 === 0 ? 'prod' : 'lab', logical_region: 'emea' },
    desired_reason: 'needed for the course',
    status: 'RUNNING',
    entered_status_at: at(30),
    service_status: 'AVAILABLE',
    conditions: BOOT_CONDITIONS.map(type => ({
      type,
      status: true,
      reason: reason('boot_stage_passed'),
      since: at(31),
    })),
    launch: anAttempt({
      client_token: hex(index, 64),
      requested_at: at(1439),
      parameters: someLaunchParameters({ ...launch, subnet_id: 'subnet-0a1b2c3d4e5f60718', tags }),
    }),
    ec2_instance_id: `i-0${hex(index, 16)}`,
    instance_type: launch.instance_type,
    ami_id: launch.image_id,
    availability_zone: 'us-east-1a',
    public_ip: address(54, index),
    private_ip: address(10, index),
    https_endpoint: `https://${address(54, index)}`,
    cml: {
      version: '2.9.0',
      ready: true,
      certificate_sha256: hex(index, 64),
      seen_certificate_sha256: null,
      node_definitions: NODE_DEFINITIONS,
      restarted_at: null,
      up_until: null,
    },
    billing: { since: at(30), cause: 'idle', closed_usd: 12.345_678 + index / 1000 },
    state_history: HISTORY.map(([from, to, because], step) => ({
      from,
      to,
      at: at(1440 - step * 180),
      because: textReason(because),
    })),
    capacity: {
      declared: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
      reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
    },
    fence: { 'worker-controller': 3 },
  })
}

export const sampleOf = (index: number, nowMs: number): WorkerSample => ({
  collected_at: toInstant(nowMs - MINUTE_MS),
  cpu_utilization: (index % 100) / 100,
  memory_utilization: ((index * 7) % 100) / 100,
  disk_utilization: 0.41,
  network_in_bytes: 1_000_000 + index,
  network_out_bytes: 2_000_000 + index,
  disk_read_bytes: null,
  disk_write_bytes: null,
  nodes_count: index % 60,
  cml_version: '2.9.0',
  system_info: null,
  system_health: { valid: true, controller: true, computes: 1, licensing: 'COMPLETED' },
})

/** Body of a decision, without the fields that the journal adds. */
export const decisionBody = (n: number): object => ({
  service: 'worker-controller',
  epoch: 3,
  action: n % 3 === 0 ? 'report' : 'wait',
  because: reason('boot_stage_waiting', { stage: 'ApiAnswers', detail: '502' }),
  cause: 'timer',
  seen: { version: n, status: 'STARTING', desired_status: 'RUNNING', ec2_state: 'running', stage: 'GATEWAY' },
  guards: [
    { name: 'boot_minutes', value: n % 20, limit: 20, passed: true },
    { name: 'attempts', value: 1, limit: 5, passed: true },
  ],
  outcome: 'ok',
  duration_ms: 12.5,
})

export const AUDIT_BODY = {
  actor: { id: 'admin', name: 'admin', role: 'admin' },
  action: 'patch',
  before: { tags: { owner: 'team-1' } },
  after: { tags: { owner: 'team-2' } },
  reason: '',
}
