import { z } from 'zod'
import { Instant } from '../instant.ts'
import { Reason } from '../reason.ts'

/** How far ahead the plan reaches. */
export const PLAN_HORIZON_MS = 48 * 3_600_000

export const STEP_KINDS = ['wake', 'buy', 'stay', 'stop', 'terminate'] as const

export const PlannedStep = z
  .object({
    kind: z.enum(STEP_KINDS).meta({
      description:
        '`wake`: start the machine; `buy`: create a worker; `stay`: run on through a pause; `stop`: stop it; `terminate`: ' +
        'terminate it while it sleeps.',
      example: 'wake',
    }),
    at: Instant.meta({ description: 'When.', example: '2026-01-02T08:39:00.000Z' }),
    because: Reason.meta({ description: 'Why, with what else it would cost.' }),
    usd: z.number().meta({ description: 'What the machine costs from this step to the next one.', example: 9.25 }),
    session_ids: z
      .array(z.string())
      .meta({ description: 'The sessions that the step is for: of a wake, those until the next stop.', example: [] }),
  })
  .meta({ id: 'PlannedStep', description: 'One step of a machine in the plan.' })
export type PlannedStep = z.infer<typeof PlannedStep>

export const PlannedMachine = z
  .object({
    key: z.string().meta({
      description: 'The id of the worker, or the key of a purchase that follows from its first session.',
      example: 'w-5k1r2m3n8pq4t',
    }),
    worker_id: z.string().nullable().meta({ description: 'The worker; null for one that is bought.' }),
    template_name: z.string().meta({ description: 'The template.', example: 'metal' }),
    session_ids: z.array(z.string()).meta({ description: 'The sessions on it, by start.', example: [] }),
    late_starts: z
      .record(z.string(), Instant)
      .exactOptional()
      .meta({ description: 'When sessions start on it that no machine can take in time, by session id.' }),
    steps: z.array(PlannedStep).meta({ description: 'Its steps, by time.' }),
  })
  .meta({ id: 'PlannedMachine', description: 'One machine in the plan.' })
export type PlannedMachine = z.infer<typeof PlannedMachine>

export const UnplacedSession = z
  .object({
    session_id: z.string().meta({ description: 'The session.', example: 'ls-5k1r2m3n8pq4t' }),
    because: Reason.meta({ description: 'Why no machine holds it.' }),
  })
  .meta({ id: 'UnplacedSession', description: 'A session without a machine in the plan.' })
export type UnplacedSession = z.infer<typeof UnplacedSession>

/** A proposal that reality overrules: it is computed again on every change, and each step passes the guards of its policy. */
export const Plan = z
  .object({
    at: Instant.meta({ description: 'When it was computed.' }),
    until: Instant.meta({ description: 'How far it reaches.' }),
    machines: z.array(PlannedMachine).meta({ description: 'Machines with sessions or steps.' }),
    unplaced: z.array(UnplacedSession).meta({ description: 'Sessions that no machine holds.' }),
    usd: z.number().meta({ description: 'What its machines cost until then.', example: 128.4 }),
  })
  .meta({
    id: 'Plan',
    description: 'Which machine serves which session, and when each one is woken, bought or stopped.',
  })
export type Plan = z.infer<typeof Plan>
