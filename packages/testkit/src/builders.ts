import type { WorkerView } from '@lcm/contract/worker-bodies'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Instance, LaunchParameters } from '@lcm/domain/worker/instance'
import { blankWorker } from '@lcm/domain/worker/new-worker'
import type { LaunchAttempt, Worker } from '@lcm/domain/worker/worker'

const THEN = '2026-01-02T03:04:05.000Z'

export const someLaunchParameters = (more: Partial<LaunchParameters> = {}): LaunchParameters => ({
  image_id: 'ami-1',
  instance_type: 'm5zn.metal',
  subnet_id: 'subnet-a',
  security_group_ids: [],
  key_name: null,
  root_device: '/dev/sda1',
  root_volume_gb: 64,
  volume_encrypted: true,
  iam_instance_profile: null,
  nested_virtualization: false,
  user_data_ref: null,
  tags: {},
  ...more,
})

export const anAttempt = (more: Partial<LaunchAttempt> = {}): LaunchAttempt => ({
  n: 1,
  client_token: 'a'.repeat(64),
  parameters: someLaunchParameters(),
  requested_at: THEN,
  state: 'launched',
  error: null,
  ...more,
})

export const aWorker = (more: Partial<Worker> = {}): Worker => ({
  ...blankWorker('w-1', THEN),
  name: 'metal-1',
  template_name: 'metal',
  aws_region: 'us-east-1',
  desired_by: 'admin',
  desired_reason: '',
  cost_per_hour_usd: 4,
  state_history: [],
  ...more,
})

export const anInstance = (more: Partial<Instance> = {}): Instance => ({
  instance_id: 'i-1',
  state: 'running',
  state_reason: null,
  instance_type: 'm5zn.metal',
  image_id: 'ami-1',
  availability_zone: 'us-east-1a',
  public_ip: '127.64.0.1',
  private_ip: '127.64.0.1',
  launched_at: THEN,
  client_token: 'a'.repeat(64),
  tags: { 'lcm:fleet': 'lcm' },
  ...more,
})

export const aTemplate = (more: Partial<WorkerTemplate> = {}): WorkerTemplate => ({
  id: 'wt-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  name: 'metal',
  description: '',
  instance_types: ['m5zn.metal', 'c5.metal'],
  ami_name_pattern: 'cml-*',
  ami_owner: 'self',
  capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
  cost_per_hour_usd: 4,
  root_volume_gb: 64,
  volume_encrypted: true,
  iam_instance_profile: null,
  nested_virtualization: false,
  subnets: {},
  associate_public_ip: true,
  license_product: null,
  drain_timeout_seconds: 14_400,
  replace_lost: false,
  has_user_data: false,
  secret_refs: {},
  seeded_from_sha256: null,
  enabled: true,
  ...more,
})

/** A worker as the API shows it, with nothing joined to it yet. */
export const asView = (worker: Worker): WorkerView => ({
  ...worker,
  labs_count: null,
  nodes_count: null,
  utilisation: null,
  system_health: null,
  cost: { spent_usd: 0, per_hour_usd: 0, cause: null },
})
