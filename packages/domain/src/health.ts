import { z } from 'zod'
import { Instant } from './instant.ts'
import type { DecisionNote } from './journal-records.ts'
import { Reason, reason } from './reason.ts'

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

const ACTIONS: Readonly<Record<HealthStatus, string>> = {
  OK: 'health_ok',
  DEGRADED: 'health_degraded',
  DOWN: 'health_down',
}

/** The health that a decision records; null for all other decisions. */
export const healthOfAction = (action: string): HealthStatus | null =>
  HEALTH_STATUSES.find(status => ACTIONS[status] === action) ?? null

/** Records a change of health among the decisions about a resource; null while it stays the same. */
export function healthNote(before: Health, after: Health, seen: DecisionNote['seen']): DecisionNote | null {
  if (before.status === after.status) return null
  const because = after.reason ?? reason('health_restored', { before: before.status })
  return { action: ACTIONS[after.status], because, cause: '', seen, guards: [], outcome: '', duration_ms: 0 }
}

/** A status with the health beside it, unless that is OK. */
export const withHealth = (status: string, health: HealthStatus): string =>
  health === 'OK' ? status : `${status}, ${health}`
