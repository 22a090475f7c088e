import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Fence } from '../fencing.ts'
import { Instant, toInstant } from '../instant.ts'
import { Reason, reason } from '../reason.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import { onOneLine } from '../text/hidden-characters.ts'
import { LaunchParameters } from './ec2-instance.ts'
import {
  Activity,
  Approval,
  Billing,
  Cml,
  CmlChanges,
  Disk,
  Drain,
  Labels,
  License,
  LicenseChanges,
  licenseOfProduct,
  NEVER_PAUSED,
  NO_ACTIVITY,
  NO_LICENSE,
  NOT_NEEDED,
  NOTHING_BILLED,
  NOTHING_RESERVED,
  Pause,
  Reservation,
  WorkerCapacity,
} from './worker-field-schemas.ts'

export const WORKER_STATUSES = [
  'PENDING',
  'PROVISIONING',
  'STARTING',
  'RUNNING',
  'DRAINING',
  'STOPPING',
  'STOPPED',
  'TERMINATING',
  'TERMINATED',
  'FAILED',
  'UNKNOWN',
] as const
export const WorkerStatus = z
  .enum(WORKER_STATUSES)
  .meta({ id: 'WorkerStatus', description: 'The observed status of a worker.' })
export type WorkerStatus = z.infer<typeof WorkerStatus>

export const DesiredStatus = z
  .enum(['RUNNING', 'STOPPED', 'TERMINATED'])
  .meta({ id: 'DesiredStatus', description: 'The requested status of a worker.' })
export type DesiredStatus = z.infer<typeof DesiredStatus>

export const ServiceStatus = z
  .enum(['UNAVAILABLE', 'STARTING', 'AVAILABLE', 'ERROR'])
  .meta({ id: 'ServiceStatus', description: 'Whether CML answers on the machine.' })
export type ServiceStatus = z.infer<typeof ServiceStatus>

/** One statement about a worker that holds or does not, since when and why. At most one per type. */
export const Condition = z
  .object({
    type: z.string().meta({ description: 'The subject of the statement.', example: 'CmlReady' }),
    status: z.boolean().meta({ description: 'Whether it holds.', example: true }),
    reason: Reason.meta({ description: 'Why it holds or does not.' }),
    since: Instant.meta({ description: 'Since when it has this value.', example: '2026-01-02T03:09:41.002Z' }),
  })
  .meta({ id: 'Condition', description: 'A statement about the resource that holds or does not.' })
export type Condition = z.infer<typeof Condition>

export const holds = (conditions: readonly Condition[], type: string): boolean =>
  conditions.some(condition => condition.type === type && condition.status)

/** Sets one condition. `since` moves only when the status flips, so it tells for how long it has been so. */
export function withCondition(
  conditions: readonly Condition[],
  next: Omit<Condition, 'since'>,
  nowMs: number,
): Condition[] {
  const before = conditions.find(condition => condition.type === next.type)
  const since = before?.status === next.status ? before.since : toInstant(nowMs)
  const condition = { ...next, since }
  return before ? conditions.map(each => (each === before ? condition : each)) : [...conditions, condition]
}

export const withoutCondition = (conditions: readonly Condition[], type: string): Condition[] =>
  conditions.filter(condition => condition.type !== type)

/** Conditions beyond the stages of a boot. */
export const CONDITION = {
  /** Its desired status became STOPPED before it was ever launched. */
  held: 'HeldByIntent',
  /** A problem that only an operator can fix blocks the launch. */
  blocked: 'LaunchBlocked',
  /** EC2 refuses to stop its machine until an operator acts: stop protection, or a missing permission. */
  stopBlocked: 'StopBlocked',
  terminateBlocked: 'TerminateBlocked',
  failed: 'Failed',
  /** A failed worker's machine was stopped, so that it costs no more. */
  stoppedAfterFailure: 'InstanceStopped',
  /** Its machine is not, or no longer, marked as ours. */
  notOurs: 'NotOurs',
  tagsChanged: 'TagsChanged',
  /** The tag `cml-endpoint` leads to another machine, or to a node of a lab. */
  endpointIgnored: 'EndpointTagIgnored',
  /** Why a worker with a license is not terminated yet. */
  returningLicense: 'ReturningLicense',
  /** The license pool of its product has no free seat. */
  seatMissing: 'LicenseSeatMissing',
  /** It runs, and nothing was measured of it for too long. */
  metricsStale: 'MetricsStale',
  /** EC2 has not answered in its region for 30 s, so nothing is known of its machine. */
  ec2Unreachable: 'Ec2Unreachable',
  /** It runs, and its CML refuses something that LCM needs. */
  cmlAccessRefused: 'CmlAccessRefused',
  /** Its CML shows another certificate than the pinned one. */
  certificateChanged: 'CertificateChanged',
  /** EC2 takes longer than it should. */
  overdue: 'Overdue',
} as const

/**
 * One launch attempt. It is stored before EC2 is called, and only one is open at a time:
 * open = may have a machine, launched = has one, adopted = has one that only its tags name as this worker's, refused = the cloud
 * refused it, spent = its machine is dead or never existed.
 */
export const LaunchAttempt = z
  .object({
    n: z.int().positive().meta({ description: 'The number of the attempt; never restarts.', example: 1 }),
    client_token: z.string().length(64).meta({
      description: 'The EC2 client token: repeated calls launch one machine.',
      example: '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901',
    }),
    parameters: LaunchParameters.meta({ description: 'The arguments of the EC2 call, fully rendered.' }),
    requested_at: Instant.meta({ description: 'When the attempt was stored.', example: '2026-01-02T03:04:05.678Z' }),
    state: z.enum(['open', 'launched', 'adopted', 'refused', 'spent']).meta({
      description:
        '`open`: may have a machine; `launched`: has one; `adopted`: found by its tags; `refused`: EC2 refused; ' +
        '`spent`: the machine is gone.',
      example: 'launched',
    }),
    error: z.string().nullable().meta({ description: 'The EC2 error, if EC2 refused.', example: null }),
  })
  .meta({ id: 'LaunchAttempt', description: 'One attempt to launch a machine. It is stored before EC2 is called.' })
export type LaunchAttempt = z.infer<typeof LaunchAttempt>

export const StateChange = z
  .object({
    from: WorkerStatus.nullable().meta({ description: 'The status before; null for the first.', example: 'STARTING' }),
    to: WorkerStatus.meta({ description: 'The status after.', example: 'RUNNING' }),
    at: Instant.meta({ description: 'When it changed.', example: '2026-01-02T03:09:41.002Z' }),
    because: Reason.meta({ description: 'The reason.' }),
  })
  .meta({ id: 'StateChange', description: 'One status change.' })
export type StateChange = z.infer<typeof StateChange>
export const STATE_HISTORY_MAX = 50
export const APPLIED_KEYS_MAX = 20

/** A worker name that users set: it fits on a line and has no invisible characters. */
export const NewWorkerName = onOneLine(
  z
    .string()
    .max(80)
    .regex(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
      /^[^ \u0000-\u001f\u007f-\u009f]+( [^ \u0000-\u001f\u007f-\u009f]+)*$/,
      { error: 'words with one space between them, no control characters', abort: true },
    ),
).meta({ id: 'NewWorkerName', description: 'A name for a new worker.' })
/** Imported machines keep their names, and older names may have characters that new ones must not have. */
export const WorkerName = z
  .string()
  .min(1)
  .max(128)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'no control characters')
  .meta({ id: 'WorkerName', description: 'The name of a worker.' })
export const TagValue = z.string().max(256).meta({ id: 'TagValue', description: 'The value of an EC2 tag.' })
/** A machine may have 50 tags, and LCM and the region's defaults need some of them. */
const TAGS_MAX = 35
export const Tags = z
  .record(z.string().min(1).max(128), TagValue)
  .refine(tags => Object.keys(tags).length <= TAGS_MAX, `at most ${TAGS_MAX}`)
  .meta({ id: 'Tags', description: 'EC2 tags by name.', example: { team: 'blue' } })
/** The names that LCM itself needs on a machine. */
export const isReservedTag = (key: string): boolean => /^(aws|lcm):/.test(key)

export const Worker = z
  .object({
    ...documentFields('w-5k1r2m3n8pq4t'),
    name: WorkerName.meta({ description: 'The name; need not be unique.', example: 'training-1' }),
    origin: z.enum(['USER', 'SCALE_UP', 'DISCOVERY']).meta({
      description: '`USER`: created by a caller; `SCALE_UP`: by the scale-up policy; `DISCOVERY`: imported from EC2.',
    }),
    template_name: z.string().meta({ description: 'The template it was created from.', example: 'metal' }),
    aws_region: z.string().meta({ description: 'The AWS region.', example: 'us-east-1' }),
    tags: Tags.meta({ description: 'EC2 tags of the machine. Names that begin with `aws:` or `lcm:` are reserved.' }),
    labels: Labels.default({}).meta({ description: 'Labels for grouping and filtering.' }),
    protected: z.boolean().meta({ description: 'Whether termination is refused.', example: false }),
    cordoned: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether no new sessions are placed on it.', example: false }),
    idle_detection_enabled: z.boolean().default(true).meta({ description: 'Whether the idle policy may stop it.' }),
    desired_status: DesiredStatus.meta({
      description: 'The requested status. Only callers and named policies change it.',
      example: 'RUNNING',
    }),
    desired_by: z.string().meta({ description: 'The caller or policy that requested it.', example: 'admin' }),
    desired_reason: z.string().meta({ description: 'The reason for the request.', example: 'course next week' }),
    desired_at: Instant.nullable()
      .default(null)
      .meta({ description: 'When `desired_status` last changed; null for records from before this was stored.' }),
    desired_until: Instant.nullable()
      .default(null)
      .meta({ description: 'Until then no policy overrides the request; null if there is no hold.' }),
    status: WorkerStatus.meta({ description: 'The observed status. Only controllers change it.', example: 'RUNNING' }),
    entered_status_at: Instant.meta({
      description: 'Since when it has this status.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    service_status: ServiceStatus.meta({ description: 'Whether CML answers on the machine.', example: 'AVAILABLE' }),
    conditions: z.array(Condition).meta({ description: 'Statements that hold or do not, at most one of each type.' }),
    launch: LaunchAttempt.nullable().meta({ description: 'The latest launch attempt; null before the first.' }),
    ec2_instance_id: z
      .string()
      .nullable()
      .meta({ description: 'The EC2 instance id.', example: 'i-0a1b2c3d4e5f60718' }),
    instance_type: z.string().nullable().meta({ description: 'The EC2 instance type.', example: 'm5zn.metal' }),
    ami_id: z
      .string()
      .nullable()
      .meta({ description: 'The image it was launched from.', example: 'ami-0a1b2c3d4e5f60718' }),
    availability_zone: z.string().nullable().meta({ description: 'The availability zone.', example: 'us-east-1a' }),
    public_ip: z.string().nullable().meta({ description: 'The public IP address.', example: '203.0.113.17' }),
    private_ip: z.string().nullable().meta({ description: 'The IP address inside the VPC.', example: '10.0.1.17' }),
    https_endpoint: z
      .string()
      .nullable()
      .meta({ description: 'The base URL of CML.', example: 'https://203.0.113.17' }),
    approval: Approval.default(NOT_NEEDED).meta({ description: 'Whether its instance may get secrets.' }),
    cml: Cml.meta({ description: 'Facts that CML reported.' }),
    cost_per_hour_usd: z.number().nullable().meta({
      description: 'The price of the machine while it runs, in USD per hour; null if it is unknown.',
      example: 3.9641,
    }),
    disk: Disk.nullable().default(null).meta({
      description: 'The root volume; null before the launch, and for an imported machine.',
    }),
    billing: Billing.default(NOTHING_BILLED).meta({ description: 'The accumulated cost.' }),
    state_history: z
      .array(StateChange)
      .max(STATE_HISTORY_MAX)
      .meta({ description: 'The latest status changes, oldest first.' }),
    failures: z
      .int()
      .nonnegative()
      .default(0)
      .meta({ description: 'Failures since it last ran or was retried.', example: 0 }),
    refresh_requested_at: Instant.nullable()
      .default(null)
      .meta({ description: 'When a refresh was requested; null when it is done.' }),
    labs_refresh_requested_at: Instant.nullable()
      .default(null)
      .meta({ description: 'When a refresh of its labs was requested; null when they were listed since.' }),
    drain: Drain.nullable().default(null).meta({ description: 'The drain in progress; null if there is none.' }),
    license: License.default(NO_LICENSE).meta({ description: 'The CML license.' }),
    capacity: WorkerCapacity.default({ declared: null, reserved: NOTHING_RESERVED }).meta({
      description: 'Declared and reserved capacity.',
    }),
    reservations: z
      .record(z.string(), Reservation)
      .default({})
      .meta({ description: 'Reserved capacity by session id.' }),
    ports: z
      .record(z.string(), z.record(z.string(), z.int()))
      .default({})
      .meta({ description: 'Port numbers by lab record id and port name.' }),
    activity: Activity.default(NO_ACTIVITY).meta({ description: 'User activity reported by CML.' }),
    pause: Pause.default(NEVER_PAUSED).meta({ description: 'Automatic stops.' }),
    wanted_by: z
      .array(z.string())
      .max(1000)
      .default([])
      .meta({ description: 'Ids of the sessions that wait for this worker to run.' }),
    secret_refs: z
      .record(z.string(), z.string())
      .default({})
      .meta({ description: 'References to its secrets by kind; never the secrets themselves.' }),
    applied_keys: z
      .array(z.string())
      .max(APPLIED_KEYS_MAX)
      .default([])
      .meta({ description: 'Hashes of the latest applied requests, to recognize a repeated one.' }),
    fence: Fence.default({}).meta({ description: 'The highest epoch of each service that has written this document.' }),
  })
  .meta({ id: 'WorkerRecord', description: 'A worker as it is stored.' })
export type Worker = z.infer<typeof Worker>

const { shape } = Worker
/** The fields of a worker that a controller writes. The desired status belongs to users and policies. */
export const WorkerChanges = z
  .strictObject({
    status: shape.status.exactOptional(),
    service_status: shape.service_status.exactOptional(),
    conditions: shape.conditions.exactOptional(),
    launch: shape.launch.exactOptional(),
    ec2_instance_id: shape.ec2_instance_id.exactOptional(),
    instance_type: shape.instance_type.exactOptional(),
    ami_id: shape.ami_id.exactOptional(),
    availability_zone: shape.availability_zone.exactOptional(),
    public_ip: shape.public_ip.exactOptional(),
    private_ip: shape.private_ip.exactOptional(),
    https_endpoint: shape.https_endpoint.exactOptional(),
    cml: CmlChanges.exactOptional().meta({ description: 'Changed CML facts; omitted fields stay as they are.' }),
    license: LicenseChanges.exactOptional().meta({
      description: 'Changed license fields; omitted fields stay as they are.',
    }),
    refresh_requested_at: z.null().exactOptional().meta({ description: 'Null marks the requested refresh as done.' }),
  })
  .meta({ id: 'WorkerChanges', description: 'Changed fields; omitted fields stay as they are.' })
export type WorkerChanges = z.infer<typeof WorkerChanges>

/** The worker with the changes of a report. Other fields stay. */
export const withChanges = (worker: Worker, changes: WorkerChanges): Worker => ({
  ...worker,
  ...changes,
  cml: { ...worker.cml, ...changes.cml },
  license: { ...worker.license, ...changes.license },
})

export const blankWorker = (id: string, now: Instant): Worker => ({
  id,
  version: 1,
  created_at: now,
  updated_at: now,
  name: id,
  origin: 'USER',
  template_name: '',
  aws_region: '',
  tags: {},
  labels: {},
  protected: false,
  cordoned: false,
  idle_detection_enabled: true,
  desired_status: 'RUNNING',
  desired_by: '',
  desired_reason: 'created',
  desired_at: now,
  desired_until: null,
  status: 'PENDING',
  entered_status_at: now,
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
  approval: NOT_NEEDED,
  cml: {
    version: null,
    ready: null,
    certificate_sha256: null,
    seen_certificate_sha256: null,
    node_definitions: [],
    restarted_at: null,
    up_until: null,
  },
  cost_per_hour_usd: null,
  disk: null,
  billing: NOTHING_BILLED,
  state_history: [{ from: null, to: 'PENDING', at: now, because: reason('worker_created') }],
  failures: 0,
  refresh_requested_at: null,
  labs_refresh_requested_at: null,
  drain: null,
  license: NO_LICENSE,
  capacity: { declared: null, reserved: NOTHING_RESERVED },
  reservations: {},
  ports: {},
  activity: NO_ACTIVITY,
  pause: NEVER_PAUSED,
  wanted_by: [],
  secret_refs: {},
  applied_keys: [],
  fence: {},
})

export const workerOfTemplate = (id: string, template: WorkerTemplate, now: Instant): Worker => ({
  ...blankWorker(id, now),
  name: `${template.name}-${id.slice(-4)}`,
  template_name: template.name,
  cost_per_hour_usd: template.cost_per_hour_usd,
  capacity: { declared: template.capacity, reserved: NOTHING_RESERVED },
  license: licenseOfProduct(template.license_product),
})
