import { z } from 'zod'
import { Instant } from '../instant.ts'
import { Capacity } from '../template/worker-template.ts'

/** `key: value`, as people group workers; lists can be filtered by them. */
export const Labels = z
  .record(
    z.string().regex(/^[A-Za-z0-9][\w./-]{0,62}$/, 'letters, digits, dots, dashes and slashes'),
    z.string().max(128),
  )
  .refine(labels => Object.keys(labels).length <= 50, 'at most 50')
  .meta({ maxProperties: 50 })
export type Labels = z.infer<typeof Labels>

/** The door is closed: no new session is placed, and when the last one is gone the worker goes on to `then`. */
export const Drain = z.object({
  requested_at: Instant,
  by: z.string(),
  reason: z.string(),
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: z.enum(['STOPPED', 'TERMINATED']),
  deadline: Instant,
  /** Absent where a person asked, who may be called as a policy is. */
  policy: z.literal('idle').exactOptional(),
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

/** A pending operation is cleared by success or a definite refusal, and kept when nobody answered. */
export const License = z.object({
  product: z.string().max(64).nullable(),
  status: z.enum(LICENSE_STATUSES),
  pending_operation: z.enum(['register', 'deregister']).nullable(),
  operation_started_at: Instant.nullable(),
  udi: z.string().nullable(),
  /** The name that goes with it, for whoever looks for it at the Smart Account. */
  hostname: z.string().nullable().default(null),
  /** What CML was asked for and nobody knows the end of. Until that is known the Smart Account may count a licence. */
  unsettled: z.enum(['register', 'deregister']).nullable().default(null),
  last_error: z.string().nullable(),
})
export type License = z.infer<typeof License>
const { shape } = License
export const LicenseChanges = z.strictObject({
  status: shape.status.exactOptional(),
  pending_operation: shape.pending_operation.exactOptional(),
  operation_started_at: shape.operation_started_at.exactOptional(),
  udi: shape.udi.exactOptional(),
  hostname: z.string().max(200).nullable().exactOptional(),
  unsettled: z.enum(['register', 'deregister']).nullable().exactOptional(),
  last_error: shape.last_error.exactOptional(),
})
export const NO_LICENSE: License = {
  product: null,
  status: 'UNREGISTERED',
  pending_operation: null,
  operation_started_at: null,
  udi: null,
  hostname: null,
  unsettled: null,
  last_error: null,
}

/** Of a server that somebody else set up and nobody here has looked into yet. */
export const UNSEEN_LICENSE: License = { ...NO_LICENSE, status: 'UNKNOWN' }

export const Cml = z.object({
  version: z.string().nullable(),
  /** What it last said of itself; null while nobody could ask. */
  ready: z.boolean().nullable().default(null),
  /** Pinned at first contact: another certificate at that address is not this server. */
  certificate_sha256: z.string().nullable(),
  node_definitions: z.array(z.string()).max(500).default([]),
})
export type Cml = z.infer<typeof Cml>
export const CmlChanges = z.strictObject({
  version: Cml.shape.version.exactOptional(),
  ready: z.boolean().nullable().exactOptional(),
  certificate_sha256: Cml.shape.certificate_sha256.exactOptional(),
  node_definitions: z.array(z.string().max(128)).max(500).exactOptional(),
})

/** What a worker gives a session, for as long as the reservation stands. */
export const Reservation = z.object({
  cpu_cores: z.number().nonnegative(),
  memory_gb: z.number().nonnegative(),
  storage_gb: z.number().nonnegative(),
  nodes: z.int().nonnegative(),
  since: Instant,
})
export type Reservation = z.infer<typeof Reservation>

export const WorkerCapacity = z.object({
  /** Of the template, as it was when the worker was made; null for a machine that was found. */
  declared: Capacity.nullable(),
  reserved: Reservation.omit({ since: true }),
})
export const NOTHING_RESERVED = { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 }

export const ActivityEvent = z.object({ at: Instant, category: z.string().max(64), detail: z.string().max(200) })
export const ACTIVITY_EVENTS_MAX = 10
/** What people did on the worker, as its own telemetry tells. */
export const Activity = z.object({
  last_activity_at: Instant.nullable(),
  last_check_at: Instant.nullable(),
  next_check_at: Instant.nullable(),
  recent_events: z.array(ActivityEvent).max(ACTIVITY_EVENTS_MAX),
  idle_since: Instant.nullable(),
  /** When the last session that had a lab on it was released: its nodes were started, stopped and wiped until then. */
  sessions_until: Instant.nullable().default(null),
})
export const NO_ACTIVITY: z.infer<typeof Activity> = {
  last_activity_at: null,
  last_check_at: null,
  next_check_at: null,
  recent_events: [],
  idle_since: null,
  sessions_until: null,
}

/** Why it is stopped although nobody asked for it, and how often that has happened. */
export const Pause = z.object({
  reason: z.string().nullable(),
  by: z.string().nullable(),
  last_paused_at: Instant.nullable(),
  last_resumed_at: Instant.nullable(),
  counts: z.object({ auto: z.int(), manual: z.int(), resumed: z.int() }),
})
export const NEVER_PAUSED: z.infer<typeof Pause> = {
  reason: null,
  by: null,
  last_paused_at: null,
  last_resumed_at: null,
  counts: { auto: 0, manual: 0, resumed: 0 },
}

export const COST_CAUSES = ['boot', 'session', 'idle', 'drain', 'failed', 'stopped'] as const
export const CostCause = z.enum(COST_CAUSES)
export type CostCause = z.infer<typeof CostCause>

/** The open cost interval and the sum of those that were closed. */
export const Billing = z.object({
  since: Instant.nullable(),
  cause: CostCause.nullable(),
  closed_usd: z.number().nonnegative(),
})
export const NOTHING_BILLED: z.infer<typeof Billing> = { since: null, cause: null, closed_usd: 0 }
