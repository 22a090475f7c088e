import { documentFields } from '@lcm/domain/document-fields'
import { Plan } from '@lcm/domain/plan/plan'
import { BoundedPlan, PLAN_ID } from '@lcm/domain/plan/stored-plan'
import { z } from 'zod'
import { type RouteSpec, SCHEDULER } from '../route-spec.ts'

const { id, version, updated_at } = documentFields(PLAN_ID)

/** What the events of a plan say: the plan itself may be large. */
export const PlanSummary = Plan.pick({ at: true, until: true, usd: true })
  .extend({
    ...{ id, version, updated_at },
    machines: z.int().nonnegative().meta({ description: 'Machines with sessions or steps.', example: 3 }),
    unplaced: z.int().nonnegative().meta({ description: 'Sessions that no machine holds.', example: 0 }),
  })
  .meta({ id: 'PlanSummary', description: 'A new plan in numbers.' })
export type PlanSummary = z.infer<typeof PlanSummary>

export const PlanView = BoundedPlan.extend({
  id,
  version: z.int().nonnegative().meta({ description: 'Grows by one with every plan; 0 before the first.', example: 4 }),
  updated_at: updated_at.nullable().meta({ description: 'When it was stored; null before the first.' }),
  is_current: z.boolean().meta({
    description: 'Whether the leading scheduler stands behind it. A plan that is not current stops no machine.',
  }),
}).meta({ id: 'PlanView', description: 'The plan of the next 48 hours.' })
export type PlanView = z.infer<typeof PlanView>

export const PLAN_ROUTES = {
  getPlan: {
    method: 'GET',
    path: '/plan',
    summary: 'Get the plan of the fleet',
    description:
      'Returns which machine serves which session within 48 hours, and when each one is woken, bought or stopped, with reasons ' +
      'and prices. It is a proposal: every step is decided again when it is due.',
    access: { roles: ['admin', 'operator'], controller: 'resource-scheduler' },
    status: 200,
    answer: PlanView,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>

/** Routes that only controllers may call. */
export const PLAN_CONTROLLER_ROUTES = {
  putPlan: {
    method: 'PUT',
    path: '/plan',
    summary: 'Store the plan of the fleet',
    description: 'Replaces the plan. The leading scheduler sends it when it changed.',
    access: SCHEDULER,
    body: BoundedPlan,
    status: 200,
    answer: PlanSummary,
    fenced: true,
    problems: [],
  },
} as const satisfies Record<string, RouteSpec>
