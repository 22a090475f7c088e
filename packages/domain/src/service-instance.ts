import { z } from 'zod'
import { Instant } from './instant.ts'
import { Reason } from './reason.ts'

export const PlannedAction = z
  .object({
    resource: z
      .string()
      .max(200)
      .meta({ description: 'The resource that it is about, with its kind.', example: 'worker:w-5k1r2m3n8pq4t' }),
    action: z.string().max(64).meta({ description: 'What the controller would do.', example: 'start' }),
    because: Reason.meta({ description: 'The reason.' }),
    due_at: Instant.nullable().meta({ description: 'When it would be done; null for now.' }),
  })
  .meta({ id: 'PlannedAction', description: 'An action that a controller would take now.' })
export type PlannedAction = z.infer<typeof PlannedAction>
export const PLAN_MAX = 1000
export const PROBLEMS_MAX = 50

export const InstanceReport = z
  .strictObject({
    is_leader: z.boolean().meta({ description: 'Whether it leads its service.' }),
    epoch: z.int().nonnegative().meta({ description: 'The leadership term; 0 if it does not lead.', example: 7 }),
    since: Instant.nullable().meta({ description: 'Since when it leads.', example: '2026-01-02T03:09:41.002Z' }),
    software: z.string().max(64).meta({ description: 'The version of LCM that it runs.', example: '0.1.0' }),
    queue: z
      .object({
        due: z.int().nonnegative().meta({ description: 'Keys waiting to be reconciled.', example: 0 }),
        active: z.int().nonnegative().meta({ description: 'Keys being reconciled.', example: 0 }),
      })
      .meta({ description: 'The work queue.' }),
    retries: z.int().nonnegative().meta({ description: 'Keys waiting for a retry.', example: 0 }),
    watch: z
      .object({
        healthy: z.boolean().meta({ description: 'Whether the watch works.' }),
        age_seconds: z
          .number()
          .nonnegative()
          .nullable()
          .meta({ description: 'Seconds since its last message; null before the first.', example: 1 }),
      })
      .meta({ description: 'The watch of changes.' }),
    last_sweep: Instant.nullable().meta({
      description: 'When all resources were last reconciled.',
      example: '2026-01-02T03:09:41.002Z',
    }),
    plan: z.array(PlannedAction).max(PLAN_MAX).meta({ description: 'What it would do now.' }),
    problems: z
      .array(Reason)
      .max(PROBLEMS_MAX)
      .default([])
      .meta({ description: 'What keeps it from working.', example: [] }),
  })
  .meta({ id: 'InstanceReport', description: 'The state of one process of a service.' })
export type InstanceReport = z.infer<typeof InstanceReport>

/** An instance without a heartbeat for this long is dropped. */
export const INSTANCE_SILENCE_MS = 30_000
export const HEARTBEAT_INTERVAL_MS = 5_000
/** A leader that missed so many heartbeats may not act any more. */
export const LEADER_SILENT_MS = 3 * HEARTBEAT_INTERVAL_MS

export const ServiceInstance = InstanceReport.extend({
  id: z.string().meta({ description: '`<service>:<instance id>`', example: 'worker-controller:worker-controller-1' }),
  version: z.int().positive().meta({ description: 'Grows by one with every write.', example: 4 }),
  service: z.string().meta({ description: 'The name of the service.', example: 'worker-controller' }),
  instance_id: z.string().meta({ description: 'The replica.', example: 'worker-controller-1' }),
  seen_at: Instant.meta({ description: 'When it last reported.', example: '2026-01-02T03:09:41.002Z' }),
  unbroken_since: Instant.nullable()
    .default(null)
    .meta({ description: 'Since when it has reported without a pause; null if unknown.' }),
}).meta({ id: 'ServiceInstance', description: 'One process of a service.' })
export type ServiceInstance = z.infer<typeof ServiceInstance>
