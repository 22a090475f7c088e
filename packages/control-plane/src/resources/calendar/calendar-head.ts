import { ROLES } from '@lcm/domain/actor'
import { SessionAdmission } from '@lcm/domain/calendar/session-admission'
import { documentFields } from '@lcm/domain/document-fields'
import { Instant } from '@lcm/domain/instant'
import { LabletSession } from '@lcm/domain/session/lablet-session'
import { z } from 'zod'

/** The most sessions that one admission may book. */
export const BATCH_SESSIONS_MAX = 5000
/** The most sessions whose promises one batch changes. */
export const BATCH_CHANGES_MAX = 200

const Span = SessionAdmission.shape.span.unwrap()
const BatchActor = z.object({ id: z.string(), name: z.string(), role: z.enum(ROLES) })

/** Sessions of the same booking at several times. Everything but id, time and machine is equal. */
const Booked = z.object({
  kind: z.literal('book'),
  session: LabletSession,
  actor: BatchActor,
  groups: z.array(
    z.object({
      timeslot: LabletSession.shape.timeslot,
      span: Span,
      ids: z.array(z.string()),
      /** The machine of each session. */
      machines: z.array(z.string()),
    }),
  ),
})

/** A later end of one session. */
const Extended = z.object({
  kind: z.literal('extend'),
  id: z.string(),
  end: Instant,
  span: Span.nullable(),
  actor: BatchActor,
  /** Hash of the request's key, to recognize a repeated one. */
  key: z.string().nullable(),
})

/** Promises to sessions that were booked before there was a calendar. Without a machine, it is best effort. */
const Reviewed = z.object({
  kind: z.literal('review'),
  sessions: z
    .array(
      z.object({
        id: z.string(),
        span: Span,
        machine: z.string().nullable(),
        at_risk: SessionAdmission.shape.at_risk.default(null),
      }),
    )
    .max(BATCH_CHANGES_MAX),
})

/** Other spans of promises, by the measured times of their labs. */
const Moved = z.object({
  kind: z.literal('move'),
  sessions: z.array(z.object({ id: z.string(), span: Span, machine: z.string() })).max(BATCH_CHANGES_MAX),
})

export const CalendarBatch = z.discriminatedUnion('kind', [Booked, Extended, Reviewed, Moved])
export type CalendarBatch = z.infer<typeof CalendarBatch>

/**
 * The one document that every promise goes through, by compare-and-set. It carries an accepted batch until all of it is in the
 * sessions; any replica finishes a batch that it finds.
 */
export const CalendarHead = z.object({
  ...documentFields('calendar'),
  /** How many batches were accepted. Their sessions carry the number. */
  number: z.int().nonnegative(),
  batch: CalendarBatch.nullable(),
})
export type CalendarHead = z.infer<typeof CalendarHead>

export const CALENDAR_ID = 'calendar'
