import { z } from 'zod'
import { Instant } from './instant.ts'

const Scalar = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()])

/** One number that a decision rests on. */
export const GuardRecord = z.object({
  name: z.string().max(100),
  value: Scalar,
  limit: Scalar,
  passed: z.boolean(),
})

/** What moved a controller to act, in its own words, with what it had seen. */
export const DecisionNote = z.strictObject({
  action: z.string().min(1).max(64),
  because: z.string().min(1).max(1000),
  /** What led to the look: a watch event, a timer, a sweep, a person. */
  cause: z.string().max(200).default(''),
  /** Versions and facts, by name. */
  seen: z.record(z.string().max(64), Scalar).default({}),
  guards: z.array(GuardRecord).max(20).default([]),
  outcome: z.string().max(1000).default(''),
  duration_ms: z.number().nonnegative().default(0),
})
export type DecisionNote = z.infer<typeof DecisionNote>

export const DecisionRecord = DecisionNote.extend({
  id: z.string(),
  at: Instant,
  service: z.string(),
  epoch: z.int(),
  /** `worker:<id>` and the like. */
  resource: z.string(),
})
export type DecisionRecord = z.infer<typeof DecisionRecord>

/** Who did what, and what it changed of what is wanted. */
export const AuditEntry = z.object({
  id: z.string(),
  at: Instant,
  actor: z.object({ id: z.string(), name: z.string(), role: z.string() }),
  action: z.string(),
  resource: z.string(),
  before: z.record(z.string(), z.unknown()),
  after: z.record(z.string(), z.unknown()),
  reason: z.string(),
})
export type AuditEntry = z.infer<typeof AuditEntry>

export const SCALING_OUTCOMES = [
  'provisioned',
  'scale_up_accepted',
  'scale_up_rejected',
  'scale_down_initiated',
  'scale_down_failed',
  'drained',
  'skipped_auto_pause',
  'skipped_not_idle',
  'skipped_cannot_judge',
  'skipped_not_eligible',
  'skipped_min_workers',
  'skipped_cooldown',
] as const
export const ScalingOutcome = z.enum(SCALING_OUTCOMES)
export type ScalingOutcome = z.infer<typeof ScalingOutcome>
