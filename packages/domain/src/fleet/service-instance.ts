import { z } from 'zod'
import { Instant } from '../instant.ts'

export const PlannedAction = z.object({
  resource: z.string().max(200),
  action: z.string().max(64),
  because: z.string().max(1000),
  due_at: Instant.nullable(),
})
export type PlannedAction = z.infer<typeof PlannedAction>
export const PLAN_MAX = 1000
export const PROBLEMS_MAX = 50
export const PROBLEM_CHARS_MAX = 1000

/** What one process of a service says of itself. */
export const InstanceReport = z.strictObject({
  is_leader: z.boolean(),
  epoch: z.int().nonnegative(),
  since: Instant.nullable(),
  software: z.string().max(64),
  /** What is due and what is in hand. */
  queue: z.object({ due: z.int().nonnegative(), active: z.int().nonnegative() }),
  retries: z.int().nonnegative(),
  /** `age_seconds`: since its last sign of life; null before the first. */
  watch: z.object({ healthy: z.boolean(), age_seconds: z.number().nonnegative().nullable() }),
  last_sweep: Instant.nullable(),
  plan: z.array(PlannedAction).max(PLAN_MAX),
  /** What keeps it from its work, each in a sentence. */
  problems: z.array(z.string().max(PROBLEM_CHARS_MAX)).max(PROBLEMS_MAX).default([]),
})
export type InstanceReport = z.infer<typeof InstanceReport>

/** Dropped when it has not been heard of for a while. */
export const INSTANCE_SILENCE_MS = 30_000
export const HEARTBEAT_INTERVAL_MS = 5_000
/** A leader that missed so many heartbeats may not act any more. */
export const LEADER_SILENT_MS = 3 * HEARTBEAT_INTERVAL_MS

export const ServiceInstance = InstanceReport.extend({
  /** `<service>:<instance id>` */
  id: z.string(),
  version: z.int().positive(),
  service: z.string(),
  instance_id: z.string(),
  seen_at: Instant,
})
export type ServiceInstance = z.infer<typeof ServiceInstance>
