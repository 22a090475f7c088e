import { z } from 'zod'
import { Instant } from './instant.ts'
import { Reason } from './reason.ts'

export const HEALTH_STATUSES = ['OK', 'DEGRADED', 'DOWN'] as const
export type HealthStatus = (typeof HEALTH_STATUSES)[number]

/** What people notice of a resource, beside its status: a session may be RUNNING while its lab is down. */
export const Health = z
  .object({
    status: z.enum(HEALTH_STATUSES).meta({
      description: "`OK`; `DEGRADED`: it may still work; `DOWN`: it can't be used.",
      example: 'OK',
    }),
    reason: Reason.nullable().meta({ description: 'Why it is not OK.', example: null }),
    since: Instant.nullable().meta({ description: 'Since when it is not OK.', example: null }),
  })
  .meta({ id: 'Health', description: 'Whether people can use it, with the reason.' })
export type Health = z.infer<typeof Health>

export const HEALTHY: Health = { status: 'OK', reason: null, since: null }
export const degraded = (reason: Reason, since: Instant): Health => ({ status: 'DEGRADED', reason, since })
export const down = (reason: Reason, since: Instant): Health => ({ status: 'DOWN', reason, since })
