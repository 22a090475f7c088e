import { z } from 'zod'
import { Instant } from '../instant.ts'
import { Reason, reason } from '../reason.ts'

/** Whether the calendar promises capacity to a session. */
export const SessionAdmission = z
  .object({
    kind: z.enum(['admitted', 'best_effort']).meta({
      description: '`admitted`: its capacity is promised. `best_effort`: it gets what the promises leave.',
      example: 'admitted',
    }),
    at_risk: Reason.nullable().meta({
      description:
        'Why it may not get its capacity: the promise is gone, or it was booked before there were promises and got none. Else null.',
      example: null,
    }),
    number: z.int().nonnegative().nullable().meta({
      description: 'The position of its time in the calendar; 0 if it was booked before there was one, null without.',
      example: 12,
    }),
    span: z
      .object({
        from: Instant.meta({ description: 'When its lab may start.' }),
        until: Instant.meta({ description: 'When its lab is gone.' }),
      })
      .nullable()
      .meta({ description: 'The time that its capacity is promised for; null for best effort.', example: null }),
    machine: z.string().nullable().meta({
      description: 'Where capacity was found when it was admitted. The plan may use another machine.',
      example: 'new-1',
    }),
  })
  .meta({ id: 'SessionAdmission', description: 'Whether the capacity of a session is promised.' })
export type SessionAdmission = z.infer<typeof SessionAdmission>

export const BEST_EFFORT: SessionAdmission = {
  kind: 'best_effort',
  at_risk: null,
  number: null,
  span: null,
  machine: null,
}
type Loss = Pick<SessionAdmission, 'kind' | 'at_risk'>

/** The loss of a promise, with the time at which it was first seen; null if there is none. */
export function lossOf({ kind, at_risk }: Loss, cause: Reason | null, now: Instant): Reason | null {
  if (cause === null) return null
  const code = kind === 'admitted' ? 'capacity_lost' : 'capacity_not_promised'
  const since = at_risk !== null && at_risk.code === code ? String(at_risk.params.since) : now
  return reason(code, { since, cause })
}

/** The loss for people who don't run LCM: they can't act on its cause. */
export const redactLoss = ({ kind, at_risk }: Loss): Reason | null =>
  at_risk === null
    ? null
    : reason(kind === 'admitted' ? 'capacity_lost' : 'capacity_not_promised', {
        since: String(at_risk.params.since),
        cause: null,
      })

/** Booked by a release that promised nothing. The calendar decides about it as soon as it starts. */
export const NOT_REVIEWED: SessionAdmission = { ...BEST_EFFORT, number: 0 }
