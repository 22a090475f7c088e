import { z } from 'zod'
import type { Role } from '../actor.ts'
import { documentFields } from '../document-fields.ts'
import { resettable, type SettingValues } from '../fleet/settings.ts'
import { Instant } from '../instant.ts'
import { CORE_HOURS_LIMIT, HORIZON_DAYS_LIMIT, SESSIONS_LIMIT, UNLIMITED } from './limit.ts'

/** How much one person may book. */
export const QuotaLimits = z
  .object({
    live_sessions: SESSIONS_LIMIT.meta({ description: 'The maximum number of sessions at a time.', example: 2 }),
    future_sessions: SESSIONS_LIMIT.meta({
      description: 'The maximum number of sessions that have not started.',
      example: 10,
    }),
    horizon_days: HORIZON_DAYS_LIMIT.meta({
      description: 'How many days ahead a session may start.',
      example: 60,
    }),
    core_hours_per_week: CORE_HOURS_LIMIT.meta({
      description: 'The maximum of CPU cores multiplied by booked hours, from Monday to Sunday in UTC.',
      example: 1000,
    }),
  })
  .meta({ id: 'QuotaLimits', description: 'The limits of one person. `unlimited` sets no limit.' })
export type QuotaLimits = z.infer<typeof QuotaLimits>
export type QuotaLimitName = keyof QuotaLimits
export const QUOTA_LIMIT_NAMES = QuotaLimits.keyof().options

/** Limits that operators set for one person. Absent ones come from the role. */
export const GivenLimits = QuotaLimits.partial()
export type GivenLimits = z.infer<typeof GivenLimits>

export const QuotaPatch = z.strictObject(resettable(QuotaLimits.shape)).meta({
  id: 'QuotaPatch',
  description: 'Limits to change. Null resets a limit to that of the role.',
  example: { live_sessions: 5 },
})
export type QuotaPatch = z.infer<typeof QuotaPatch>

/** One booked session, as far as quotas count it. */
export const LedgerEntry = z.object({
  start: Instant,
  /** The end of the timeslot, or when the session ended before. */
  end: Instant,
  cores: z.number().nonnegative(),
  /** When the session was admitted or extended. Its document may be written a moment later. */
  since: Instant,
  /** An ended session counts in the core-hours of its week only. */
  is_over: z.boolean(),
})
export type LedgerEntry = z.infer<typeof LedgerEntry>

export const BookingLedger = z.record(z.string(), LedgerEntry)
/** The sessions of one person that count, by id. */
export type BookingLedger = z.infer<typeof BookingLedger>

/** One document per person. Its id is the `owner` of the sessions. */
export const Quota = z.object({
  ...documentFields('oidc:jane'),
  given: GivenLimits,
  ledger: BookingLedger,
})
export type Quota = z.infer<typeof Quota>

const NO_LIMITS: QuotaLimits = {
  live_sessions: UNLIMITED,
  future_sessions: UNLIMITED,
  horizon_days: UNLIMITED,
  core_hours_per_week: UNLIMITED,
}

/** Operators and admins have no limits by role, because they could lift them. */
function limitsOfRole(role: Role, settings: SettingValues): QuotaLimits {
  if (role !== 'user' && role !== 'author') return NO_LIMITS
  return {
    live_sessions: settings[`quota_${role}_live_sessions`],
    future_sessions: settings[`quota_${role}_future_sessions`],
    horizon_days: settings[`quota_${role}_horizon_days`],
    core_hours_per_week: settings[`quota_${role}_core_hours_per_week`],
  }
}

/** The limits of a person: the given ones, else those of the role. */
export const limitsOf = ({ role, given }: { role: Role; given: GivenLimits }, settings: SettingValues): QuotaLimits =>
  QuotaLimits.parse({ ...limitsOfRole(role, settings), ...given })

/** The given limits with the patch applied. */
export const patchedLimits = (given: GivenLimits, patch: QuotaPatch): GivenLimits =>
  GivenLimits.parse(
    Object.fromEntries(
      Object.entries({ ...given, ...patch }).filter(([, value]) => value !== null && value !== undefined),
    ),
  )

/** Whether any limit needs the ledger. The horizon does not. */
export const isCounted = ({ live_sessions, future_sessions, core_hours_per_week }: QuotaLimits): boolean =>
  [live_sessions, future_sessions, core_hours_per_week].some(limit => limit !== UNLIMITED)
