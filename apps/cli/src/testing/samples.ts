import { toInstant } from '@lcm/domain/instant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { withBoot } from '@lcm/domain/worker/boot'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'

/** When the manual clock begins. */
export const START_MS = Date.UTC(2026, 0, 1)

const start = toInstant(START_MS)

export const aWorker = (changes: Partial<Worker> = {}): Worker => ({
  id: 'w-0abcdefgh0001',
  version: 1,
  created_at: start,
  updated_at: start,
  name: 'metal-1',
  origin: 'USER',
  template_name: 'metal',
  aws_region: 'us-east-1',
  tags: {},
  protected: false,
  desired_status: 'RUNNING',
  desired_by: 'admin',
  desired_reason: '',
  status: 'PENDING',
  entered_status_at: start,
  service_status: 'UNAVAILABLE',
  conditions: [],
  launch: null,
  ec2_instance_id: null,
  instance_type: null,
  ami_id: null,
  availability_zone: null,
  public_ip: null,
  private_ip: null,
  https_endpoint: null,
  cml: { version: null, certificate_sha256: null },
  cost_per_hour_usd: 3.96,
  fence: {},
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

export const aLaunch = (changes: Partial<LaunchAttempt> = {}): LaunchAttempt => ({
  n: 1,
  client_token: 'c'.repeat(64),
  parameters: {
    image_id: 'ami-1',
    instance_type: 'm5zn.metal',
    subnet_id: 'subnet-1',
    security_group_ids: [],
    key_name: null,
    root_device: '/dev/sda1',
    root_volume_gb: 64,
    volume_encrypted: true,
    iam_instance_profile: null,
    nested_virtualization: false,
    tags: {},
  },
  requested_at: start,
  state: 'open',
  error: null,
  ...changes,
})

export const aTemplate = (changes: Partial<WorkerTemplate> = {}): WorkerTemplate => ({
  id: 'wt-0abcdefgh0001',
  version: 1,
  created_at: start,
  updated_at: start,
  name: 'metal',
  description: 'bare metal',
  instance_types: ['m5zn.metal'],
  ami_name_pattern: 'cml-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 500, max_nodes: 200 },
  cost_per_hour_usd: 3.96,
  root_volume_gb: 64,
  volume_encrypted: true,
  iam_instance_profile: null,
  nested_virtualization: false,
  subnets: {},
  enabled: true,
  ...changes,
})
