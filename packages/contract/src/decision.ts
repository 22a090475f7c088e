import { Instant } from '@lcm/domain/instant'
import { DecisionNote, DecisionRecord } from '@lcm/domain/journal-records'
import { z } from 'zod'
import { listOf } from './common-schemas.ts'
import { ANY_CONTROLLER, type RouteSpec } from './route-spec.ts'

export const DecisionList = listOf(DecisionRecord).meta({ id: 'DecisionList', description: 'A page of decisions.' })

const ResourceName = z
  .string()
  .max(200)
  .regex(/^(worker|session|lab_record|definition|fleet):/, 'a resource such as worker:w-1')

/** Decisions without a write of a document, such as a call of EC2 or a new reason to wait. */
export const RecordDecisions = z
  .strictObject({
    epoch: z.int().positive().meta({ description: 'The leadership term in which it was decided.', example: 7 }),
    decisions: z
      .array(
        DecisionNote.extend({
          id: z.string().min(1).max(200).meta({ description: 'The id; repeats are ignored.', example: 'dec-1' }),
          at: Instant.meta({ description: 'When the decision was made.' }),
          resource: ResourceName.meta({
            description: 'The resource that it is about, with its kind.',
            example: 'worker:w-5k1r2m3n8pq4t',
          }),
        }),
      )
      .max(1000)
      .meta({ description: 'The decisions.' }),
  })
  .meta({ id: 'RecordDecisions', description: 'Decisions to record.' })

export const DECISION_ROUTES = {
  recordDecisions: {
    method: 'POST',
    path: '/decisions',
    summary: 'Record decisions',
    description: 'Records decisions that no write of a document carries.',
    access: ANY_CONTROLLER,
    body: RecordDecisions,
    status: 204,
    answer: null,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
