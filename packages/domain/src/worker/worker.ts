import { z } from 'zod'
import { Fence } from '../fencing.ts'
import { Instant } from '../instant.ts'
import { LaunchParameters } from './instance.ts'
import {
  Activity,
  Billing,
  Cml,
  CmlChanges,
  Drain,
  Labels,
  License,
  LicenseChanges,
  NEVER_PAUSED,
  NO_ACTIVITY,
  NO_LICENSE,
  NOTHING_BILLED,
  NOTHING_RESERVED,
  Pause,
  Reservation,
  WorkerCapacity,
} from './parts.ts'

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
export const WorkerStatus = z.enum(WORKER_STATUSES)
export type WorkerStatus = z.infer<typeof WorkerStatus>

export const DesiredStatus = z.enum(['RUNNING', 'STOPPED', 'TERMINATED'])
export type DesiredStatus = z.infer<typeof DesiredStatus>

export const ServiceStatus = z.enum(['UNAVAILABLE', 'STARTING', 'AVAILABLE', 'ERROR'])
export type ServiceStatus = z.infer<typeof ServiceStatus>

/** One statement about a worker that holds or does not, since when and why. At most one per type. */
export const Condition = z.object({
  type: z.string(),
  status: z.boolean(),
  reason: z.string(),
  message: z.string(),
  since: Instant,
})
export type Condition = z.infer<typeof Condition>

/** Conditions beyond the stages of a boot. */
export const CONDITION = {
  /** Somebody wants it stopped before it was ever launched. */
  held: 'HeldByIntent',
  /** Something that only a person can mend keeps it from being launched. */
  blocked: 'LaunchBlocked',
  /** EC2 refuses to stop its machine until a person acts: stop protection, or a missing permission. */
  stopBlocked: 'StopBlocked',
  /** EC2 refuses to terminate its machine until a person acts. */
  terminateBlocked: 'TerminateBlocked',
  /** Why it is FAILED. */
  failed: 'Failed',
  /** A failed worker's machine was stopped, so that it costs no more. */
  stoppedAfterFailure: 'InstanceStopped',
  /** Its machine is not, or no longer, marked as ours. */
  notOurs: 'NotOurs',
  tagsChanged: 'TagsChanged',
  /** The tag `cml-endpoint` leads to another machine, or to a node of a lab. */
  endpointIgnored: 'EndpointTagIgnored',
  /** What keeps a worker from going that holds a licence. */
  returningLicense: 'ReturningLicense',
  /** It runs, and nothing was measured of it for too long. */
  metricsStale: 'MetricsStale',
  /** EC2 has not answered in its region for 30 s, so nothing is known of its machine. */
  ec2Unreachable: 'Ec2Unreachable',
  /** It runs, and its CML refuses something that LCM needs. */
  cmlAccessRefused: 'CmlAccessRefused',
  /** EC2 takes longer than it should. */
  overdue: 'Overdue',
} as const

/**
 * One try at launching. It is stored before the cloud is asked, and only one is open at a time:
 * open = may have a machine, launched = has one, adopted = has one that only its tags name as this worker's, refused = the cloud
 * said no, spent = its machine is dead or never was.
 */
export const LaunchAttempt = z.object({
  /** Grows for the life of the worker and never restarts. */
  n: z.int().positive(),
  client_token: z.string().length(64),
  parameters: LaunchParameters,
  requested_at: Instant,
  state: z.enum(['open', 'launched', 'adopted', 'refused', 'spent']),
  error: z.string().nullable(),
})
export type LaunchAttempt = z.infer<typeof LaunchAttempt>

export const StateChange = z.object({
  from: WorkerStatus.nullable(),
  to: WorkerStatus,
  at: Instant,
  because: z.string(),
})
export type StateChange = z.infer<typeof StateChange>
export const STATE_HISTORY_MAX = 50
export const APPLIED_KEYS_MAX = 20

/** What a person may call a worker: it fits on a line, and reads the same wherever it is shown. */
export const NewWorkerName = z
  .string()
  .max(80)
  .regex(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
    /^[^ \u0000-\u001f\u007f]+( [^ \u0000-\u001f\u007f]+)*$/,
    'words with one space between them, no control characters',
  )
/** The machines of others are called as they please: what is found keeps its name. */
export const WorkerName = z
  .string()
  .min(1)
  .max(128)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it refuses.
  .regex(/^[^\u0000-\u001f\u007f]*$/, 'no control characters')
export const TagValue = z.string().max(256)
/** A machine may have 50 tags, and LCM and the region's defaults need some of them. */
const TAGS_MAX = 35
export const Tags = z
  .record(z.string().min(1).max(128), TagValue)
  .refine(tags => Object.keys(tags).length <= TAGS_MAX, `at most ${TAGS_MAX}`)
/** The names that LCM itself needs on a machine. */
export const isReservedTag = (key: string): boolean => /^(aws|lcm):/.test(key)

export const Worker = z.object({
  id: z.string(),
  version: z.int().positive(),
  created_at: Instant,
  updated_at: Instant,
  name: WorkerName,
  origin: z.enum(['USER', 'SCALE_UP', 'DISCOVERY']),
  template_name: z.string(),
  aws_region: z.string(),
  tags: Tags,
  labels: Labels.default({}),
  protected: z.boolean(),
  /** Nothing new is placed on it. */
  cordoned: z.boolean().default(false),
  idle_detection_enabled: z.boolean().default(true),
  desired_status: DesiredStatus,
  desired_by: z.string(),
  desired_reason: z.string(),
  /** When `desired_status` last changed; null for a record from before this was kept. */
  desired_at: Instant.nullable().default(null),
  /** Until then no policy may change what a person asked for; null where nothing is held. */
  desired_until: Instant.nullable().default(null),
  status: WorkerStatus,
  entered_status_at: Instant,
  service_status: ServiceStatus,
  conditions: z.array(Condition),
  launch: LaunchAttempt.nullable(),
  ec2_instance_id: z.string().nullable(),
  instance_type: z.string().nullable(),
  ami_id: z.string().nullable(),
  availability_zone: z.string().nullable(),
  public_ip: z.string().nullable(),
  private_ip: z.string().nullable(),
  https_endpoint: z.string().nullable(),
  cml: Cml,
  cost_per_hour_usd: z.number(),
  billing: Billing.default(NOTHING_BILLED),
  state_history: z.array(StateChange).max(STATE_HISTORY_MAX),
  /** How often it has failed since it last ran, or since a person asked for a retry. */
  failures: z.int().nonnegative().default(0),
  refresh_requested_at: Instant.nullable().default(null),
  /** The part of that wish which is over once all its labs were listed. */
  labs_refresh_requested_at: Instant.nullable().default(null),
  drain: Drain.nullable().default(null),
  license: License.default(NO_LICENSE),
  capacity: WorkerCapacity.default({ declared: null, reserved: NOTHING_RESERVED }),
  /** By session id. */
  reservations: z.record(z.string(), Reservation).default({}),
  /** By lab record id: names and port numbers. */
  ports: z.record(z.string(), z.record(z.string(), z.int())).default({}),
  activity: Activity.default(NO_ACTIVITY),
  pause: Pause.default(NEVER_PAUSED),
  /** Sessions that wait for this worker to run. */
  wanted_by: z.array(z.string()).max(1000).default([]),
  /** Where its secrets are kept, by what they are; never the secrets themselves. */
  secret_refs: z.record(z.string(), z.string()).default({}),
  /** Hashes of the last requests that changed it, so that a repeated one is known. */
  applied_keys: z.array(z.string()).max(APPLIED_KEYS_MAX).default([]),
  fence: Fence.default({}),
})
export type Worker = z.infer<typeof Worker>

const { shape } = Worker
/** What a controller may say of a worker. Desired state is not among it: that belongs to people and policies. */
export const WorkerChanges = z.strictObject({
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
  /** What is not named stays as it is; so for `license`. */
  cml: CmlChanges.exactOptional(),
  license: LicenseChanges.exactOptional(),
  refresh_requested_at: z.null().exactOptional(),
})
export type WorkerChanges = z.infer<typeof WorkerChanges>

/** The worker as the report says it is. What the report does not name stays. */
export const withChanges = (worker: Worker, changes: WorkerChanges): Worker => ({
  ...worker,
  ...changes,
  cml: { ...worker.cml, ...changes.cml },
  license: { ...worker.license, ...changes.license },
})
