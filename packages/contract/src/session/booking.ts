import { Instant } from '@lcm/domain/instant'
import { Reason } from '@lcm/domain/reason'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import { onOneLine } from '@lcm/domain/text/hidden-characters'
import { z } from 'zod'

export const CreateSession = z
  .strictObject({
    definition: z.string().min(1).max(64).optional().meta({
      description:
        'The id of a definition, or a name, which selects its newest ACTIVE version. Omit it with `resume_save`.',
      example: 'bgp-basics',
    }),
    resume_save: z.string().min(1).max(64).optional().meta({
      description: 'The save to continue from, with its version of the definition. The lab starts with the saved work.',
    }),
    start: Instant.optional().meta({ description: 'The start; by default now.' }),
    duration_minutes: z
      .int()
      .min(1)
      .max(7 * 24 * 60)
      .optional()
      .meta({ description: 'The duration instead of `end`; by default the longest that the definition allows.' }),
    end: Instant.optional().meta({ description: 'The end.' }),
    reservation_id: onOneLine(z.string().min(1).max(128)).optional().meta({
      description: 'The reservation number of another system; unique among your sessions.',
    }),
    best_effort: z.boolean().default(false).meta({
      description: 'Books without a promise: the session gets what admitted sessions leave.',
      example: false,
    }),
  })
  .meta({
    id: 'CreateSession',
    description: 'A session to book.',
    example: { definition: 'bgp-basics', duration_minutes: 30 },
  })

export const SEATS_MAX = 200
const seats = z.int().min(1).max(SEATS_MAX)

const { definition, start, duration_minutes, end, best_effort } = CreateSession.shape
export const CreateSessions = z
  .strictObject({
    definition: definition.unwrap().meta({
      description: 'The id of a definition, or a name, which selects its newest ACTIVE version.',
      example: 'bgp-basics',
    }),
    seats: seats.meta({ description: 'How many sessions to book.', example: 20 }),
    start,
    duration_minutes,
    end,
    best_effort,
  })
  .meta({
    id: 'CreateSessions',
    description: 'Sessions of one definition at the same time.',
    example: { definition: 'bgp-basics', seats: 20, duration_minutes: 30 },
  })

export const BookedSessions = z
  .object({ items: z.array(LabletSession).max(SEATS_MAX).meta({ description: 'The sessions.' }) })
  .meta({ id: 'BookedSessions', description: 'The sessions of one booking.' })

export const PreviewAdmission = z
  .strictObject({
    seats: seats.default(1).meta({ description: 'How many seats.', example: 20 }),
    start,
    duration_minutes,
    end,
  })
  .meta({ id: 'PreviewAdmission', description: 'A booking to try.', example: { seats: 20, duration_minutes: 30 } })

export const AdmissionPreview = z
  .object({
    outcome: z.enum(['admitted', 'refused']).meta({ description: 'Whether the booking would be admitted.' }),
    timeslot: LabletSession.shape.timeslot,
    seats: z.int().meta({ description: 'The seats that were tried.', example: 20 }),
    free_seats: z.int().meta({ description: 'How many of them fit.', example: 14 }),
    because: Reason.nullable().meta({ description: 'Why it would be refused; null if it would be admitted.' }),
    alternatives: z.array(Instant).meta({ description: 'The nearest starts that would be admitted now.' }),
  })
  .meta({ id: 'AdmissionPreview', description: 'Whether a booking would be admitted now.' })
export type AdmissionPreview = z.infer<typeof AdmissionPreview>
