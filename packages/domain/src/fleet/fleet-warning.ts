import { z } from 'zod'
import { Reason } from '../reason.ts'

export const WARNING_KINDS = ['budget', 'capacity_ahead', 'session_at_risk', 'license'] as const

/** What operators should know about the whole fleet before anybody is affected. */
export const FleetWarning = z
  .object({
    id: z.string().meta({ description: 'The same for the same problem in a later list.', example: 'budget:day' }),
    kind: z.enum(WARNING_KINDS).meta({
      description:
        '`budget`: most of a budget is used; `capacity_ahead`: limits that are too low for what is booked; ' +
        '`session_at_risk`: booked sessions whose promised capacity is gone; ' +
        '`license`: a template or a definition that its license does not fit.',
      example: 'budget',
    }),
    is_critical: z.boolean().meta({ description: 'Whether sessions are affected if nothing changes.', example: false }),
    reason: Reason.meta({ description: 'The problem.' }),
    fix: Reason.meta({ description: 'What to do.' }),
  })
  .meta({ id: 'FleetWarning', description: 'A warning about the whole fleet.' })
export type FleetWarning = z.infer<typeof FleetWarning>
