import { toMs } from '../instant.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { LeadDefinition, LeadSettings, Timings } from './timings.ts'

/** From the start of a session's lab until the lab is gone. `untilMs` is infinite while the capacity is held. */
export interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** The span that a session needs by its timeslot: its lab starts before the slot and is removed after it. */
export const spanOf = (
  { timeslot }: Pick<LabletSession, 'timeslot'>,
  definition: LeadDefinition,
  timings: Timings,
  settings: LeadSettings,
): Span => ({
  fromMs: toMs(timeslot.start) - timings.leadMs(definition, settings),
  untilMs: toMs(timeslot.end) + timings.teardownMs,
})

/** A span that no time is outside of. */
export const ALWAYS: Span = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }

export const overlaps = (a: Span, b: Span): boolean => a.fromMs < b.untilMs && b.fromMs < a.untilMs
