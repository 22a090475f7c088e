import type { WorkerView } from '@lcm/contract/worker'
import type { StoredNotification, StoredTarget } from '@lcm/control-plane/internal-documents'
import { BEST_EFFORT } from '@lcm/domain/calendar/session-admission'
import type { LabletDefinition } from '@lcm/domain/definition/lablet-definition'
import { HEALTHY } from '@lcm/domain/health'
import type { LabRecord } from '@lcm/domain/lab/lab-record'
import { Topology, type TopologyNode } from '@lcm/domain/lab/topology'
import type { Save } from '@lcm/domain/save/save'
import { type LabletSession, NEVER_SAVED } from '@lcm/domain/session/lablet-session'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import type { Instance, LaunchParameters } from '@lcm/domain/worker/ec2-instance'
import { blankWorker, type LaunchAttempt, type Worker } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'

const THEN = '2026-01-02T03:04:05.000Z'

export const someLaunchParameters = (more: Partial<LaunchParameters> = {}): LaunchParameters => ({
  image_id: 'ami-1',
  instance_type: 'm5zn.metal',
  subnet_id: 'subnet-a',
  associate_public_ip: null,
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
  public_dns: null,
  private_dns: null,
  launched_at: THEN,
  client_token: 'a'.repeat(64),
  tags: { Name: 'metal-1', 'lcm:fleet': 'lcm' },
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
  associate_public_ip: null,
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
  health: workerHealth(worker),
  labs_count: null,
  nodes_count: null,
  utilization: null,
  system_health: null,
  cost: { spent_usd: 0, per_hour_usd: 0, cause: null },
})

/** A worker that labs can be placed on now. */
export const aServingWorker = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'RUNNING',
    service_status: 'AVAILABLE',
    cml: {
      version: '2.9.0',
      ready: true,
      certificate_sha256: null,
      seen_certificate_sha256: null,
      node_definitions: [],
      restarted_at: null,
      up_until: null,
    },
    license: { ...aWorker().license, product: 'CML_Enterprise', status: 'REGISTERED' },
    capacity: {
      declared: { cpu_cores: 48, memory_gb: 192, storage_gb: 1000, max_nodes: 200 },
      reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
    },
    ...more,
  })

/** A lab of these nodes, without links; node fields default to those of a router. */
export const aTopology = (nodes: readonly Partial<TopologyNode>[] = [{}], more: Partial<Topology> = {}): Topology =>
  Topology.parse({
    lab: { version: '0.3.0', title: 'a lab' },
    nodes: nodes.map((node, n) => ({
      id: `n${n}`,
      label: `router-${n}`,
      node_definition: 'iosv',
      x: 0,
      y: 0,
      ...node,
    })),
    links: [],
    ...more,
  })

export const aDefinition = (more: Partial<LabletDefinition> = {}): LabletDefinition => ({
  id: 'ld-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  created_by: 'ann',
  name: 'two-routers',
  title: '',
  description: '',
  source: 'inline',
  definition_version: '1.0.0',
  status: 'ACTIVE',
  replaces: null,
  topology: null,
  topology_sha256: null,
  needs: { cpu_cores: 2, memory_gb: 4, storage_gb: 10, node_count: 2 },
  node_definitions_required: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  port_template: [],
  max_duration_minutes: 60,
  boot_lead_minutes: null,
  lab_reuse: false,
  saves_enabled: true,
  sync: { status: 'none', error: null, at: null, package_sha256: null },
  ...more,
})

/** Booked at once for an hour, and not placed yet. */
export const aSave = (more: Partial<Save> = {}): Save => ({
  id: 'sv-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  session_id: 'ls-1',
  number: 1,
  owner: 'ann',
  owner_name: 'Ann',
  definition: { id: 'ld-1', name: 'two-routers', version: '1.0.0' },
  cause: 'interval',
  size_bytes: 1024,
  content_sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  nodes: [{ label: 'r1', outcome: 'saved', reason: null }],
  is_final: false,
  session_ended_at: null,
  ...more,
})

export const aSession = (more: Partial<LabletSession> = {}): LabletSession => ({
  id: 'ls-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  owner: 'ann',
  owner_name: 'Ann',
  reservation_id: null,
  definition: { id: 'ld-1', name: 'two-routers', version: '1.0.0' },
  needs: aDefinition().needs,
  timeslot: { start: THEN, end: '2026-01-02T04:04:05.000Z' },
  admission: BEST_EFFORT,
  desired_status: 'RUNNING',
  desired_by: 'ann',
  desired_reason: '',
  status: 'PENDING',
  entered_status_at: THEN,
  worker_id: null,
  lab_record_id: null,
  access: [],
  pipeline: null,
  waiting_reason: null,
  last_error: null,
  conditions: [],
  health: HEALTHY,
  restore_from: null,
  save: NEVER_SAVED,
  move: null,
  state_history: [],
  applied_keys: [],
  fence: {},
  ...more,
})

export const aLabRecord = (more: Partial<LabRecord> = {}): LabRecord => ({
  id: 'lr-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  worker_id: 'w-1',
  lab_id: 'lab-1',
  title: 'a lab',
  owner: 'admin',
  source: 'IMPORT',
  definition_id: 'ld-1',
  status: 'BOOTED',
  raw_state: 'STARTED',
  node_count: 2,
  link_count: 1,
  nodes: [],
  ports: {},
  session_id: null,
  pending_action: null,
  last_error: null,
  runs: [],
  first_seen_at: THEN,
  last_seen_at: THEN,
  applied_keys: [],
  fence: {},
  ...more,
})

/** Receives everything at a webhook. */
export const aTarget = (more: Partial<StoredTarget> = {}): StoredTarget => ({
  id: 'nt-5k1r2m3n8pq4t',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  name: 'operators',
  type: 'webhook',
  kinds: [],
  min_severity: 'info',
  definitions: [],
  owners: [],
  to: [],
  to_owner: false,
  url_host: 'hooks.example.com',
  is_signed: false,
  secret_refs: {},
  ...more,
})

export const aNotification = (more: Partial<StoredNotification> = {}): StoredNotification => ({
  id: 'no-5k1r2m3n8pq4t',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  target_id: 'nt-5k1r2m3n8pq4t',
  target_name: 'operators',
  target_type: 'webhook',
  owner: null,
  kind: 'session_ready',
  severity: 'info',
  is_resolved: false,
  title: 'Lab two-routers of Ann is ready until 04:04 UTC',
  lines: [],
  link: null,
  subjects: ['session:ls-1'],
  status: 'DEAD',
  attempts: 1,
  next_attempt_at: THEN,
  last_error: 'status 410',
  delivered_at: null,
  key: 'one',
  notices: [],
  ...more,
})
