import { z } from 'zod'
import { Instant } from './instant.ts'
import { Reason } from './reason.ts'

const Scalar = z.union([z.string().max(1000), z.number(), z.boolean(), z.null()])

export const GuardRecord = z
  .object({
    name: z.string().max(100).meta({ description: 'The name of the check.', example: 'idle_seconds' }),
    value: Scalar.meta({ description: 'The measured value.', example: 4200 }),
    limit: Scalar.meta({ description: 'The value it is compared with.', example: 3600 }),
    passed: z.boolean().meta({ description: 'Whether the check passed.', example: true }),
  })
  .meta({ id: 'GuardRecord', description: 'One check that a decision depends on.' })

export const DecisionNote = z
  .strictObject({
    action: z.string().min(1).max(64).meta({ description: 'What the controller does.', example: 'start' }),
    because: Reason.meta({ description: 'The reason.' }),
    cause: z.string().max(200).default('').meta({
      description: 'What triggered the reconciliation: a change, a timer, a sweep or a request.',
      example: 'timer',
    }),
    seen: z
      .record(z.string().max(64), Scalar)
      .default({})
      .meta({ description: 'Versions and facts that the decision is based on, by name.', example: { ec2: 'running' } }),
    guards: z.array(GuardRecord).max(20).default([]).meta({ description: 'The checks that the decision depends on.' }),
    outcome: z.string().max(1000).default('').meta({ description: 'The result of the action.', example: 'done' }),
    duration_ms: z
      .number()
      .nonnegative()
      .default(0)
      .meta({ description: 'How long the action took, in milliseconds.', example: 240 }),
  })
  .meta({ id: 'DecisionNote', description: 'The decision behind a write, with the facts it is based on.' })
export type DecisionNote = z.infer<typeof DecisionNote>

export const DecisionRecord = DecisionNote.extend({
  id: z.string().meta({ description: 'The id of the entry.', example: 'dec-5k1r2m3n8pq4t' }),
  at: Instant.meta({ description: 'When the decision was made.', example: '2026-01-02T03:09:41.002Z' }),
  service: z.string().meta({ description: 'The service that decided.', example: 'worker-controller' }),
  epoch: z.int().meta({ description: 'The leadership term in which it was decided.', example: 7 }),
  resource: z
    .string()
    .meta({ description: 'The resource that it is about, with its kind.', example: 'worker:w-5k1r2m3n8pq4t' }),
}).meta({ id: 'DecisionRecord', description: 'A stored decision.' })
export type DecisionRecord = z.infer<typeof DecisionRecord>

export const AuditEntry = z
  .object({
    id: z.string().meta({ description: 'The id of the entry.', example: 'aud-5k1r2m3n8pq4t' }),
    at: Instant.meta({ description: 'When the change was made.', example: '2026-01-02T03:09:41.002Z' }),
    actor: z
      .object({
        id: z.string().meta({ description: 'Stays the same when the name changes.', example: 'admin' }),
        name: z.string().meta({ description: 'The display name.', example: 'admin' }),
        role: z.string().meta({ description: 'The role at the time of the call.', example: 'admin' }),
      })
      .meta({ description: 'The caller.' }),
    action: z.string().meta({ description: 'The operation.', example: 'worker.stop' }),
    resource: z
      .string()
      .meta({ description: 'The resource that it is about, with its kind.', example: 'worker:w-5k1r2m3n8pq4t' }),
    before: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The changed fields before.', example: { desired_status: 'RUNNING' } }),
    after: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The changed fields after.', example: { desired_status: 'STOPPED' } }),
    reason: z.string().meta({ description: 'The reason that the caller gave.', example: 'course next week' }),
  })
  .meta({ id: 'AuditEntry', description: 'A change that a caller made.' })
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
