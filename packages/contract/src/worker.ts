import { HEALTH_STATUSES, Health } from '@lcm/domain/health'
import { Instant } from '@lcm/domain/instant'
import { isOnOneLine, ON_ONE_LINE, onOneLine } from '@lcm/domain/text/hidden-characters'
import { DesiredStatus, NewWorkerName, StateChange, TagValue, Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import { Activity, CostCause, Labels, Pause } from '@lcm/domain/worker/worker-field-schemas'
import { z } from 'zod'
import { listOf, Page, reasonField } from './common-schemas.ts'

const Percent = z.number().min(0).max(100).nullable()
const Count = z.number().nonnegative().nullable()

export const SystemInfo = z
  .strictObject({
    cpu_count: Count.meta({ description: 'The number of CPUs.', example: 48 }),
    memory_total_bytes: Count.meta({ description: 'The total memory in bytes.', example: 206_158_430_208 }),
    disk_total_bytes: Count.meta({ description: 'The total disk size in bytes.', example: 68_719_476_736 }),
    running_orphans: Count.meta({
      description: 'Running nodes that belong to no lab. They use capacity unnoticed.',
      example: 0,
    }),
  })
  .meta({ id: 'SystemInfo', description: 'The hardware of a CML server, as CML reports it; null where unknown.' })

export const WorkerSample = z
  .strictObject({
    collected_at: Instant.meta({ description: 'When it was measured.', example: '2026-01-02T03:09:41.002Z' }),
    cpu_utilization: Percent.default(null).meta({ description: 'CPU utilization in percent.', example: 12.5 }),
    memory_utilization: Percent.default(null).meta({ description: 'Memory utilization in percent.', example: 41.2 }),
    disk_utilization: Percent.default(null).meta({ description: 'Disk utilization in percent.', example: 33 }),
    network_in_bytes: Count.default(null).meta({ description: 'Bytes received in the interval.', example: 120_000 }),
    network_out_bytes: Count.default(null).meta({ description: 'Bytes sent in the interval.', example: 98_000 }),
    disk_read_bytes: Count.default(null).meta({ description: 'Bytes read in the interval.', example: 4096 }),
    disk_write_bytes: Count.default(null).meta({ description: 'Bytes written in the interval.', example: 8192 }),
    nodes_count: z.int().nonnegative().nullable().default(null).meta({
      description: 'The number of running lab nodes.',
      example: 14,
    }),
    cml_version: z.string().max(64).nullable().default(null).meta({
      description: 'The CML version.',
      example: '2.9.1',
    }),
    system_info: SystemInfo.nullable().default(null).meta({ description: 'The hardware of the server.' }),
    system_health: z
      .record(z.string().max(64), z.union([z.boolean(), z.string().max(200), z.number()]))
      .nullable()
      .default(null)
      .meta({ description: 'The health checks of CML by name.', example: null }),
  })
  .meta({ id: 'WorkerSample', description: 'One measurement of a worker. Values that are unknown are null, never 0.' })
export type WorkerSample = z.infer<typeof WorkerSample>

export const WorkerView = Worker.extend({
  health: Health.meta({ description: 'Whether it does what is requested of it, with the reason.' }),
  labs_count: z.int().nullable().meta({ description: 'The number of labs on it; null if unknown.', example: 2 }),
  nodes_count: z.int().nullable().meta({
    description: 'The number of running lab nodes; null if unknown.',
    example: 14,
  }),
  utilization: z
    .object({
      cpu: Percent.meta({ description: 'CPU utilization in percent.', example: 12.5 }),
      memory: Percent.meta({ description: 'Memory utilization in percent.', example: 41.2 }),
      disk: Percent.meta({ description: 'Disk utilization in percent.', example: 33 }),
      at: Instant.meta({ description: 'When it was measured.' }),
    })
    .nullable()
    .meta({ description: 'The latest utilization; null if it was not measured.' }),
  system_health: WorkerSample.shape.system_health,
  cost: z
    .object({
      spent_usd: z.number().meta({ description: 'The cost so far, in USD.', example: 18.2 }),
      per_hour_usd: z.number().nullable().meta({
        description: 'The current cost in USD per hour; null while the price of the machine is unknown.',
        example: 3.9641,
      }),
      cause: CostCause.nullable().meta({ description: 'What the money is spent on now.' }),
    })
    .meta({ description: 'The cost so far and the current cost.' }),
}).meta({ id: 'Worker', description: 'A CML server: the requested state, the observed state and its history.' })
export type WorkerView = z.infer<typeof WorkerView>

export const WorkerList = listOf(WorkerView).meta({ id: 'WorkerList', description: 'A page of workers.' })

export const WorkerQuery = Page.extend({
  status: WorkerStatus.optional().meta({ description: 'Only workers with this status.', example: 'RUNNING' }),
  desired_status: DesiredStatus.optional().meta({
    description: 'Only workers with this requested status.',
    example: 'RUNNING',
  }),
  health: z.enum(HEALTH_STATUSES).optional().meta({ description: 'Only workers with this health.', example: 'DOWN' }),
  region: z.string().max(64).optional().meta({ description: 'Only workers in this region.', example: 'us-east-1' }),
  template: z.string().max(64).optional().meta({ description: 'Only workers of this template.', example: 'metal' }),
  label: z
    .string()
    .max(200)
    .regex(/^[^=]+=/, 'name=value')
    .optional()
    .meta({ description: 'Only workers with this label, as `name=value`.', example: 'environment=prod' }),
  q: z.string().max(128).optional().meta({ description: 'Only workers whose name contains this text.' }),
  include_terminated: z.union([z.boolean(), z.stringbool()]).default(false).meta({
    description: 'Also returns terminated workers.',
  }),
})

export const LicenseToken = z.string().min(1).max(4096)
const Product = onOneLine(z.string().min(1).max(64))
const productField = Product.meta({ description: 'The license product, as CML names it.', example: 'CML_Enterprise' })
const licenseTokenField = LicenseToken.meta({ description: 'The license token. Write-only.', example: 'NWIxZTg…' })

/** Tag names that LCM and AWS use themselves are refused. */
const OwnTags = z.record(
  onOneLine(
    z
      .string()
      .min(1)
      .max(128)
      .regex(/^(?!aws:|lcm:)/, 'names that begin with aws: or lcm: are reserved'),
  ),
  onOneLine(TagValue),
)
const tagsField = OwnTags.meta({ description: 'EC2 tags. Names that begin with `aws:` or `lcm:` are reserved.' })
/** Stored labels may have characters that new ones must not have. */
const NewLabels = Labels.refine(labels => Object.values(labels).every(isOnOneLine), ON_ONE_LINE).meta({
  ...z.globalRegistry.get(Labels),
  id: 'NewLabels',
})
const protectedField = z.boolean().meta({ description: 'Whether termination is refused.' })
const idleDetectionField = z.boolean().meta({ description: 'Whether the idle policy may stop it.' })

export const CreateWorker = z
  .strictObject({
    template_name: z.string().min(1).max(64).meta({
      description: 'The template; `lcm get templates` lists them.',
      example: 'metal',
    }),
    name: NewWorkerName.optional().meta({
      description: 'The name; by default LCM generates one.',
      example: 'training-1',
    }),
    aws_region: z.string().min(1).max(64).optional().meta({
      description: 'The AWS region; by default the first configured one.',
    }),
    tags: tagsField.optional(),
    labels: NewLabels.optional().meta({ description: 'Labels for grouping and filtering.' }),
    license: z
      .strictObject({ product: productField, token: licenseTokenField.optional() })
      .optional()
      .meta({ description: 'The license to register when the worker runs. The token is write-only.' }),
    protected: protectedField.optional(),
    idle_detection_enabled: idleDetectionField.optional(),
  })
  .meta({
    id: 'CreateWorker',
    description: 'A worker to create.',
    example: { template_name: 'metal', name: 'training-1' },
  })

const Fingerprint = z
  .string()
  .regex(/^[0-9a-f]{2}(:?[0-9a-f]{2}){31}$/i, 'a SHA-256 fingerprint: 64 hexadecimal digits, with or without colons')
const fingerprintField = Fingerprint.meta({
  description: 'The SHA-256 fingerprint of the certificate that the CML must show.',
  example: '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901',
})

export const ApproveWorker = z
  .strictObject({ fingerprint: fingerprintField.optional(), reason: reasonField.optional() })
  .meta({ id: 'ApproveWorker', description: 'An approval of the machine of a worker.' })

export const RepinWorker = z
  .strictObject({ fingerprint: fingerprintField, reason: reasonField.optional() })
  .meta({ id: 'RepinWorker', description: 'The certificate to pin.' })

export const PatchWorker = z
  .strictObject({
    name: NewWorkerName.exactOptional().meta({ description: 'The new name.' }),
    tags: tagsField.exactOptional(),
    labels: NewLabels.exactOptional().meta({ description: 'Replaces all labels.' }),
    protected: protectedField.exactOptional(),
    cordoned: z.boolean().exactOptional().meta({ description: 'Whether no new sessions are placed on it.' }),
    idle_detection_enabled: idleDetectionField.exactOptional(),
    license: z
      .strictObject({ product: Product.nullable().meta({ description: 'The license product; null for none.' }) })
      .exactOptional()
      .meta({ description: 'The license that the worker should have.' }),
  })
  .meta({
    id: 'PatchWorker',
    description: 'Fields to change; omitted fields stay as they are.',
    example: { name: 'training-2', protected: true },
  })

export const PowerRequest = z
  .strictObject({
    reason: reasonField.optional().meta({ example: 'course next week' }),
    until: Instant.optional().meta({ description: 'Until then no policy overrides the request.' }),
    force: z.boolean().default(false).meta({ description: 'Continue even if the worker has sessions.' }),
  })
  .meta({
    id: 'PowerRequest',
    description: 'A request to start, stop or terminate.',
    example: { reason: 'course next week' },
  })

export const DrainWorker = z
  .strictObject({
    reason: reasonField.optional(),
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    then: z.enum(['STOPPED', 'TERMINATED']).default('STOPPED').meta({
      description: 'The status that follows when the worker has no more sessions.',
    }),
    timeout_seconds: z
      .int()
      .min(60)
      .max(7 * 86_400)
      .optional()
      .meta({ description: 'How long to wait for sessions; by default as the template says.' }),
  })
  .meta({ id: 'DrainWorker', description: 'A drain.', example: { reason: 'end of the course' } })

export const PutLicense = z
  .strictObject({
    product: productField,
    token: licenseTokenField.optional().meta({
      description:
        'The license token. Without it the worker takes a seat of the license pool of the product. Write-only.',
      example: 'NWIxZTg…',
    }),
  })
  .meta({ id: 'PutLicense', description: 'A license to register.' })

export const PutCredentials = z
  .strictObject({
    username: onOneLine(z.string().min(1).max(128)).meta({ description: 'The CML user name.', example: 'admin' }),
    password: z.string().min(1).max(512).meta({
      description: 'The CML password.',
      example: 'correct horse battery staple',
    }),
  })
  .meta({ id: 'PutCredentials', description: 'A CML login.' })

export const WorkerHistory = listOf(
  StateChange.extend({
    id: z.string().meta({ description: 'The id of the entry.', example: 'tr-5k1r2m3n8pq4t' }),
    by: z.string().meta({ description: 'The service that changed the status.', example: 'worker-controller' }),
  }),
).meta({ id: 'WorkerHistory', description: 'A page of status changes.' })

export const MetricsList = listOf(
  WorkerSample.extend({
    labs_count: z.int().nullable().meta({
      description: 'The number of labs at that time; null if unknown.',
      example: 2,
    }),
  }),
).meta({ id: 'MetricsList', description: 'A page of measurements.' })

export const WorkerActivity = z
  .object({
    worker_id: z.string().meta({ description: 'The id of the worker.', example: 'w-5k1r2m3n8pq4t' }),
    idle_detection_enabled: idleDetectionField,
    activity: Activity.meta({ description: 'User activity reported by CML.' }),
    pause: Pause.meta({ description: 'Automatic stops.' }),
    policy: z
      .object({
        enabled: z.boolean().meta({ description: 'Whether idle workers are detected.' }),
        timeout_seconds: z.int().meta({ description: 'How long it must be unused before it is idle.', example: 3600 }),
        snooze_seconds: z.int().meta({ description: 'How long a started worker is left alone.', example: 3600 }),
        action: z.string().meta({ description: 'What happens to an idle worker.', example: 'pause' }),
      })
      .meta({ description: 'The idle policy that applies to it.' }),
  })
  .meta({ id: 'WorkerActivity', description: 'The activity of a worker and the idle policy.' })
