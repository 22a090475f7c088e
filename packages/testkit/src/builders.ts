import type { WorkerView } from '@lcm/contract/worker-bodies'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Instance, LaunchParameters } from '@lcm/domain/worker/instance'
import { NEVER_PAUSED, NO_ACTIVITY, NO_LICENSE, NOTHING_BILLED, NOTHING_RESERVED } from '@lcm/domain/worker/parts'
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

/** What a worker has that nothing ever happened to. */
const WORKER_PARTS = {
  labels: {},
  cordoned: false,
  idle_detection_enabled: true,
  desired_until: null,
  refresh_requested_at: null,
  drain: null,
  license: NO_LICENSE,
  capacity: { declared: null, reserved: NOTHING_RESERVED },
  reservations: {},
  ports: {},
  activity: NO_ACTIVITY,
  pause: NEVER_PAUSED,
  wanted_by: [],
  billing: NOTHING_BILLED,
  applied_keys: [],
}

export const aWorker = (more: Partial<Worker> = {}): Worker => ({
  id: 'w-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
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
  entered_status_at: THEN,
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
  cml: { version: null, ready: null, certificate_sha256: null, node_definitions: [] },
  cost_per_hour_usd: 4,
  state_history: [],
  fence: {},
  ...WORKER_PARTS,
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
  tags: {},
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
