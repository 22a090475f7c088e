import { z } from 'zod'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'
import { Capacity } from '../template/worker-template.ts'

export const Labels = z
  .record(
    z.string().regex(/^[A-Za-z0-9][\w./-]{0,62}$/, 'letters, digits, dots, dashes and slashes'),
    z.string().max(128),
  )
  .refine(labels => Object.keys(labels).length <= 50, 'at most 50')
  .meta({ maxProperties: 50, id: 'Labels', description: 'Labels by name.', example: { environment: 'prod' } })
export type Labels = z.infer<typeof Labels>

export const Drain = z
  .object({
    requested_at: Instant.meta({ description: 'When it was requested.', example: '2026-01-02T03:04:05.678Z' }),
    by: z.string().meta({ description: 'The caller or policy that requested it.', example: 'admin' }),
    reason: z.string().meta({ description: 'The reason for the request.', example: 'course next week' }),
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    then: z
      .enum(['STOPPED', 'TERMINATED'])
      .meta({ description: 'The status that follows the drain.', example: 'STOPPED' }),
    deadline: Instant.meta({
      description: 'When the drain continues even if sessions remain.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    /** Absent where a person asked, who may be called as a policy is. */
    policy: z
      .literal('idle')
      .exactOptional()
      .meta({ description: 'The policy that requested it; absent if a caller did.' }),
  })
  .meta({
    id: 'Drain',
    description: 'A drain: no new sessions are placed, and the worker moves to `then` when the last session is gone.',
  })
export type Drain = z.infer<typeof Drain>

export const LICENSE_STATUSES = [
  'UNREGISTERED',
  'REGISTERING',
  'REGISTERED',
  'DEREGISTERING',
  'FAILED',
  'UNKNOWN',
] as const

const LICENSE_SEATS = ['none', 'wanted', 'held', 'recalled', 'leaving'] as const

/** A pending operation is cleared by success or a definite refusal, and kept without an answer. */
export const License = z
  .object({
    product: z
      .string()
      .max(64)
      .nullable()
      .meta({ description: 'The license product, as CML names it.', example: 'CML_Enterprise' }),
    status: z.enum(LICENSE_STATUSES).meta({ description: 'The registration status.' }),
    pending_operation: z
      .enum(['register', 'deregister'])
      .nullable()
      .meta({ description: 'The operation in progress; null if there is none.', example: null }),
    operation_started_at: Instant.nullable().meta({
      description: 'When the operation in progress started.',
      example: null,
    }),
    udi: z.string().nullable().meta({
      description: 'The unique device identifier that Smart Licensing knows the server by.',
      example: 'PID:CML,SN:0a1b2c3d',
    }),
    hostname: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The host name registered with the license.', example: 'training-1' }),
    /** The request to CML whose result is unknown. Until it is known the Smart Account may count a license. */
    unsettled: z.enum(['register', 'deregister']).nullable().default(null).meta({
      description: 'An operation whose outcome is unknown; the Smart Account may still count a license.',
      example: null,
    }),
    last_error: z.string().nullable().meta({ description: 'The latest error; null if there is none.', example: null }),
    seat: z
      .enum(LICENSE_SEATS)
      .default('none')
      .meta({
        description:
          'The use of the license pool of its product. `none`: it has a license of its own, or none; `wanted`: it registers as ' +
          'soon as it has a seat; `held`: it has one; `recalled`: it returns its seat when it stops; `leaving`: it returns its ' +
          'seat and takes no other.',
        example: 'none',
      }),
  })
  .meta({ id: 'License', description: 'The license of a CML server.' })
export type License = z.infer<typeof License>
const { shape } = License
export const LicenseChanges = z
  .strictObject({
    status: shape.status.exactOptional(),
    pending_operation: shape.pending_operation.exactOptional(),
    operation_started_at: shape.operation_started_at.exactOptional(),
    udi: shape.udi.exactOptional(),
    hostname: z
      .string()
      .max(200)
      .nullable()
      .exactOptional()
      .meta({ description: 'The host name registered with the license.' }),
    unsettled: z
      .enum(['register', 'deregister'])
      .nullable()
      .exactOptional()
      .meta({ description: 'An operation whose outcome is unknown.' }),
    last_error: shape.last_error.exactOptional(),
  })
  .meta({ id: 'LicenseChanges', description: 'Changed license fields.' })
export const NO_LICENSE: License = {
  product: null,
  status: 'UNREGISTERED',
  pending_operation: null,
  operation_started_at: null,
  udi: null,
  hostname: null,
  unsettled: null,
  last_error: null,
  seat: 'none',
}

/** The license of a new worker: one of the pool of its product, where there is such a pool. */
export const licenseOfProduct = (product: string | null): License => ({
  ...NO_LICENSE,
  product,
  seat: product === null ? 'none' : 'wanted',
})

/** The license of a server that LCM did not set up and has not read yet. */
export const UNSEEN_LICENSE: License = { ...NO_LICENSE, status: 'UNKNOWN' }

/** Whether the instance may get secrets. An approval belongs to the instance that the worker had when it was given. */
export const Approval = z
  .object({
    state: z.enum(['not_needed', 'required', 'approved', 'migrated']).meta({
      description:
        '`not_needed`: LCM launches its instance itself; `required`: LCM did not launch its instance, and sends it no secret; ' +
        '`approved`: by `by`; `migrated`: it was in use before approvals existed.',
      example: 'not_needed',
    }),
    by: z.string().nullable().meta({ description: 'The caller, or the setting, that approved it.', example: null }),
    at: Instant.nullable().meta({ description: 'When it was approved.', example: null }),
    fingerprint: z.string().nullable().meta({
      description: 'The SHA-256 fingerprint of its certificate that was given with the approval.',
      example: null,
    }),
  })
  .meta({ id: 'Approval', description: 'Whether the instance of a worker may get secrets.' })
export type Approval = z.infer<typeof Approval>
export const NOT_NEEDED: Approval = { state: 'not_needed', by: null, at: null, fingerprint: null }

export const Cml = z
  .object({
    version: z.string().nullable().meta({ description: 'The CML version.', example: '2.9.1' }),
    ready: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: 'Whether CML reported itself ready; null while it cannot be reached.', example: true }),
    /** Pinned at first contact with a trusted instance: another certificate at that address is not this server. */
    certificate_sha256: z.string().nullable().meta({
      description: 'The certificate pinned at first contact. A server with another one is not trusted.',
      example: '5f1c0d9a7be34412a06e8cc3d2f7b9015f1c0d9a7be34412a06e8cc3d2f7b901',
    }),
    seen_certificate_sha256: z.string().nullable().default(null).meta({
      description: 'The certificate that the server showed and LCM does not trust; null if there is none.',
      example: null,
    }),
    node_definitions: z
      .array(z.string())
      .max(500)
      .default([])
      .meta({ description: 'Node definitions that the server supports.', example: ['iol-xe'] }),
    /** A restart stops all labs. EC2 does not show every restart, such as a reboot from inside. */
    restarted_at: Instant.nullable().default(null).meta({
      description: 'When LCM found that the machine was restarted; null if it never was.',
      example: null,
    }),
    up_until: Instant.nullable().default(null).meta({
      description: 'When it was last seen up before that restart.',
      example: null,
    }),
  })
  .meta({ id: 'Cml', description: 'Facts about a CML server.' })
export type Cml = z.infer<typeof Cml>
export const CmlChanges = z
  .strictObject({
    version: Cml.shape.version.exactOptional(),
    ready: z
      .boolean()
      .nullable()
      .exactOptional()
      .meta({ description: 'Whether CML reported itself ready; null while it cannot be reached.' }),
    restarted_at: Instant.exactOptional().meta({ description: 'When the machine was found to be restarted.' }),
    up_until: Instant.exactOptional().meta({ description: 'When it was last seen up before that restart.' }),
    certificate_sha256: Cml.shape.certificate_sha256.exactOptional(),
    seen_certificate_sha256: z.string().max(64).nullable().exactOptional().meta({
      description: 'The certificate that the server showed and LCM does not trust.',
    }),
    node_definitions: z
      .array(z.string().max(128))
      .max(500)
      .exactOptional()
      .meta({ description: 'Node definitions that the server supports.' }),
  })
  .meta({ id: 'CmlChanges', description: 'Changed CML facts.' })

export const Reservation = z
  .object({
    cpu_cores: z.number().nonnegative().meta({ description: 'CPU cores.', example: 4 }),
    memory_gb: z.number().nonnegative().meta({ description: 'Memory in GB.', example: 16 }),
    storage_gb: z.number().nonnegative().meta({ description: 'Storage in GB.', example: 20 }),
    nodes: z.int().nonnegative().meta({ description: 'Lab nodes.', example: 5 }),
    since: Instant.meta({ description: 'When it was reserved.', example: '2026-01-02T03:04:05.678Z' }),
    from: Instant.meta({ description: 'When the lab starts.', example: '2026-01-02T03:04:05.678Z' }),
    until: Instant.nullable().meta({
      description:
        'When the lab should be gone; null while it is held until a scan of the worker has seen the lab gone.',
      example: '2026-01-02T05:06:05.678Z',
    }),
    started_at: Instant.nullable().meta({
      description: 'When the start of the lab was permitted, because its capacity was free; null before.',
      example: null,
    }),
  })
  .meta({ id: 'Reservation', description: 'Capacity that a worker reserves for a session.' })
export type Reservation = z.infer<typeof Reservation>

export const DeclaredCapacity = Capacity.extend({
  storage_gb: Capacity.shape.storage_gb
    .nullable()
    .meta({ description: 'Storage in GB; null if it is unknown, which limits nothing.', example: 200 }),
}).meta({ id: 'DeclaredCapacity', description: 'The capacity of a worker.' })
export type DeclaredCapacity = z.infer<typeof DeclaredCapacity>

export const WorkerCapacity = z
  .object({
    declared: DeclaredCapacity.nullable().meta({
      description:
        'From the template at creation; of an imported machine from its instance type; null if that is unknown.',
    }),
    reserved: Reservation.pick({ cpu_cores: true, memory_gb: true, storage_gb: true, nodes: true }).meta({
      description: 'The most that is reserved at one time.',
    }),
  })
  .meta({ id: 'WorkerCapacity', description: 'Declared and reserved capacity of a worker.' })
export const NOTHING_RESERVED = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }

export const ActivityEvent = z
  .object({
    at: Instant.meta({ description: 'When it happened.', example: '2026-01-02T03:09:41.002Z' }),
    category: z.string().max(64).meta({ description: 'The event category, as CML names it.', example: 'start_lab' }),
    detail: z.string().max(200).meta({ description: 'Details of the event.', example: '' }),
  })
  .meta({ id: 'ActivityEvent', description: 'One event of CML telemetry.' })
export const ACTIVITY_EVENTS_MAX = 10
export const Activity = z
  .object({
    last_activity_at: Instant.nullable().meta({
      description: 'The latest user activity; null if unknown.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    last_check_at: Instant.nullable().meta({
      description: 'The latest idle check.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    next_check_at: Instant.nullable().meta({ description: 'The next idle check.', example: null }),
    recent_events: z.array(ActivityEvent).max(ACTIVITY_EVENTS_MAX).meta({ description: 'The latest events.' }),
    idle_since: Instant.nullable().meta({
      description: 'Since when it is idle; null while it is in use.',
      example: null,
    }),
    sessions_until: Instant.nullable().default(null).meta({
      description: 'When the last session on it was released; null if there was none.',
      example: '2026-01-02T03:09:41.002Z',
    }),
  })
  .meta({ id: 'Activity', description: 'User activity on a worker, as CML telemetry reports it.' })
export const NO_ACTIVITY: z.infer<typeof Activity> = {
  last_activity_at: null,
  last_check_at: null,
  next_check_at: null,
  recent_events: [],
  idle_since: null,
  sessions_until: null,
}

export const Pause = z
  .object({
    reason: Reason.nullable().meta({ description: 'Why a policy stopped it; null if none did.', example: null }),
    by: z.string().nullable().meta({ description: 'The caller or policy that stopped it.', example: null }),
    last_paused_at: Instant.nullable().meta({ description: 'The latest stop.', example: null }),
    last_resumed_at: Instant.nullable().meta({ description: 'The latest start after a stop.', example: null }),
    counts: z
      .object({
        auto: z.int().meta({ description: 'Stops by a policy.', example: 0 }),
        manual: z.int().meta({ description: 'Stops by a caller.', example: 0 }),
        resumed: z.int().meta({ description: 'Starts after a stop.', example: 0 }),
      })
      .meta({ description: 'Number of stops and starts.' }),
  })
  .meta({ id: 'Pause', description: 'Automatic and manual stops of a worker.' })
export const NEVER_PAUSED: z.infer<typeof Pause> = {
  reason: null,
  by: null,
  last_paused_at: null,
  last_resumed_at: null,
  counts: { auto: 0, manual: 0, resumed: 0 },
}

export const Disk = z
  .object({
    gb: z.number().nonnegative().meta({ description: 'The size in GB.', example: 200 }),
    usd_per_hour: z.number().nonnegative().meta({
      description: 'The price in USD per hour, whether the machine runs or not.',
      example: 0.0219,
    }),
  })
  .meta({ id: 'Disk', description: 'The root volume of a machine.' })
export type Disk = z.infer<typeof Disk>

export const CostCause = z
  .enum(['boot', 'session', 'idle', 'drain', 'failed', 'stopped'])
  .meta({ id: 'CostCause', description: 'What the money is spent on; `stopped` costs the disk only.' })
export type CostCause = z.infer<typeof CostCause>

/** The parts of a sum of costs: the machine by cause, and all disks. */
export const COST_SHARES = ['boot', 'session', 'idle', 'drain', 'failed', 'disk'] as const
export type CostShare = (typeof COST_SHARES)[number]

export const Billing = z
  .object({
    since: Instant.nullable().meta({
      description: 'Start of the open interval; null if nothing is billed.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    cause: CostCause.nullable().meta({ description: 'What the open interval is spent on.', example: 'session' }),
    closed_usd: z
      .number()
      .nonnegative()
      .meta({ description: 'The sum of all closed intervals, in USD.', example: 18.2 }),
  })
  .meta({ id: 'Billing', description: 'The open cost interval and the sum of the closed ones.' })
export const NOTHING_BILLED: z.infer<typeof Billing> = { since: null, cause: null, closed_usd: 0 }
