import { DecisionNote, DecisionRecord } from '@lcm/domain/decision'
import { LAB_EVENTS_MAX } from '@lcm/domain/fleet/activity'
import { UNREADABLE } from '@lcm/domain/fleet/idle'
import { Instant } from '@lcm/domain/instant'
import { HourlyUsd } from '@lcm/domain/template/worker-template'
import { Activity, ActivityEvent, CostCause, Labels, Pause } from '@lcm/domain/worker/parts'
import {
  DesiredStatus,
  LaunchAttempt,
  NewWorkerName,
  StateChange,
  TagValue,
  Worker,
  WorkerChanges,
  WorkerName,
  WorkerStatus,
} from '@lcm/domain/worker/worker'
import { z } from 'zod'
import { listOf, Page, TimePage } from './lists.ts'

const Share = z.number().min(0).max(100).nullable()
const Count = z.number().nonnegative().nullable()

/** What a CML server is made of, by its own words. */
export const SystemInfo = z.strictObject({
  cpu_count: Count,
  memory_total_bytes: Count,
  disk_total_bytes: Count,
  /** Nodes that run without belonging to a lab; they take room silently. */
  running_orphans: Count,
})

/** One look at how busy a worker is. What a source did not say is null, never 0. */
export const WorkerSample = z.strictObject({
  collected_at: Instant,
  cpu_utilization: Share.default(null),
  memory_utilization: Share.default(null),
  disk_utilization: Share.default(null),
  network_in_bytes: Count.default(null),
  network_out_bytes: Count.default(null),
  disk_read_bytes: Count.default(null),
  disk_write_bytes: Count.default(null),
  nodes_count: z.int().nonnegative().nullable().default(null),
  cml_version: z.string().max(64).nullable().default(null),
  system_info: SystemInfo.nullable().default(null),
  system_health: z
    .record(z.string().max(64), z.union([z.boolean(), z.string().max(200), z.number()]))
    .nullable()
    .default(null),
})
export type WorkerSample = z.infer<typeof WorkerSample>

/** A worker with what is joined to it when it is read. */
export const WorkerView = Worker.extend({
  labs_count: z.int().nullable(),
  nodes_count: z.int().nullable(),
  utilisation: z.object({ cpu: Share, memory: Share, disk: Share, at: Instant }).nullable(),
  system_health: WorkerSample.shape.system_health,
  cost: z.object({ spent_usd: z.number(), per_hour_usd: z.number(), cause: CostCause.nullable() }),
})
export type WorkerView = z.infer<typeof WorkerView>

export const WorkerList = listOf(WorkerView)

export const WorkerQuery = Page.extend({
  status: WorkerStatus.optional(),
  desired_status: DesiredStatus.optional(),
  region: z.string().max(64).optional(),
  template: z.string().max(64).optional(),
  /** `name=value`, such as `environment=prod`. */
  label: z
    .string()
    .max(200)
    .regex(/^[^=]+=/, 'name=value')
    .optional(),
  q: z.string().max(128).optional(),
  include_terminated: z.union([z.boolean(), z.stringbool()]).default(false),
})

const LicenseToken = z.string().min(1).max(4096)
const Product = z.string().min(1).max(64)

/** People may not claim the names that LCM and AWS need on a machine. */
const OwnTags = z.record(
  z
    .string()
    .min(1)
    .max(128)
    .regex(/^(?!aws:|lcm:)/, 'names that begin with aws: or lcm: are reserved'),
  TagValue,
)

export const CreateWorker = z.strictObject({
  template_name: z.string().min(1).max(64),
  name: NewWorkerName.optional(),
  aws_region: z.string().min(1).max(64).optional(),
  tags: OwnTags.optional(),
  labels: Labels.optional(),
  /** Registered as soon as the worker runs. The token is write-only. */
  license: z.strictObject({ product: Product, token: LicenseToken.optional() }).optional(),
  protected: z.boolean().optional(),
  idle_detection_enabled: z.boolean().optional(),
})

export const PatchWorker = z.strictObject({
  name: NewWorkerName.exactOptional(),
  tags: OwnTags.exactOptional(),
  labels: Labels.exactOptional(),
  protected: z.boolean().exactOptional(),
  cordoned: z.boolean().exactOptional(),
  idle_detection_enabled: z.boolean().exactOptional(),
  license: z.strictObject({ product: Product.nullable() }).exactOptional(),
})

const reason = z.string().max(500).optional()

export const Intent = z.strictObject({
  reason,
  /** Until then no policy changes what you ask for. */
  until: Instant.optional(),
  /** Also when sessions live on it. */
  force: z.boolean().default(false),
})

export const DrainWorker = z.strictObject({
  reason,
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: z.enum(['STOPPED', 'TERMINATED']).default('STOPPED'),
  /** Of the template unless given. */
  timeout_seconds: z
    .int()
    .min(60)
    .max(7 * 86_400)
    .optional(),
})

export const Reasoned = z.strictObject({ reason })

export const PutLicense = z.strictObject({ product: Product, token: LicenseToken })
export const PutCredentials = z.strictObject({
  username: z.string().min(1).max(128),
  password: z.string().min(1).max(512),
})

/** Handed to controllers only. Null where none was given. */
export const WorkerSecrets = z.object({
  license_token: z.string().nullable(),
  cml_username: z.string().nullable(),
  cml_password: z.string().nullable(),
})

export const ReportStatus = z.strictObject({ changes: WorkerChanges, decision: DecisionNote })
export const OpenLaunchAttempt = z.strictObject({ attempt: LaunchAttempt, decision: DecisionNote })

/** Why its labs must stop, in the words of whoever refused because they run. */
export const StopLabs = z.strictObject({ reason: z.string().max(500) })
export const StopLabsAnswer = z.object({ stopping: z.int() })

export const HistoryQuery = TimePage
export const History = listOf(StateChange.extend({ id: z.string(), by: z.string() }))
export const DecisionList = listOf(DecisionRecord)
/** A sample with how many labs were on the worker then; null when nobody had looked. */
export const MetricsList = listOf(WorkerSample.extend({ labs_count: WorkerView.shape.labs_count }))

const Subject = z
  .string()
  .max(200)
  .regex(/^(worker|session|lab_record|definition|fleet):/, 'a resource such as worker:w-1')

/** Decisions that led to no write of a document, such as a cloud call or a wait for another reason. */
export const RecordDecisions = z.strictObject({
  epoch: z.int().positive(),
  decisions: z.array(DecisionNote.extend({ id: z.string().min(1).max(200), at: Instant, resource: Subject })).max(1000),
})

export const WorkerActivity = z.object({
  worker_id: z.string(),
  idle_detection_enabled: z.boolean(),
  activity: Activity,
  pause: Pause,
  /** What the settings make of it. */
  policy: z.object({ enabled: z.boolean(), timeout_seconds: z.int(), snooze_seconds: z.int(), action: z.string() }),
})

const LabEvent = z.strictObject({ lab_id: z.string().max(64), at: Instant, category: z.string().max(64) })

/** What telemetry showed; null when it could not be read, which is never taken for idleness. */
export const IdleCheck = z.strictObject({
  evidence: z
    .strictObject({
      last_activity_at: Instant.nullable(),
      running_nodes: z.int().nonnegative().nullable(),
      events: z.array(ActivityEvent).max(100).default([]),
      /** The newest event of each lab that names no user: LCM's own labs are told from people's where labs are on record. */
      lab_events: z.array(LabEvent).max(LAB_EVENTS_MAX).default([]),
    })
    .nullable(),
  /** Why there is no evidence, where CML says no rather than nothing. */
  unreadable: z.enum(UNREADABLE).nullable().default(null),
})
export const IdleAnswer = z.object({
  verdict: z.string(),
  because: z.string(),
  guards: DecisionNote.shape.guards,
  worker: WorkerView,
})

export const InstanceId = z.string().regex(/^i-[0-9a-f]{4,32}$/, 'an instance id')

/** A machine that was found and that no worker stands for. */
export const ImportWorker = z.strictObject({
  ec2_instance_id: InstanceId,
  aws_region: z.string().min(1).max(64),
  name: WorkerName,
  template_name: z.string().max(64).default('imported'),
  status: z.enum(['PROVISIONING', 'STARTING', 'STOPPED']),
  instance_type: z.string().max(64).nullable(),
  ami_id: z.string().max(64).nullable(),
  availability_zone: z.string().max(64).nullable(),
  public_ip: z.string().max(64).nullable(),
  private_ip: z.string().max(64).nullable(),
  https_endpoint: z.string().max(500).nullable(),
  cml_version: z.string().max(64).nullable(),
  tags: z.record(z.string(), z.string()).default({}),
  labels: Labels.default({}),
  cost_per_hour_usd: HourlyUsd.default(0),
})
