import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import { type Limit, UNLIMITED } from './limit.ts'
import type { BookingLedger, LedgerEntry, QuotaLimits } from './quota.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
/** 1970-01-05 was a Monday. */
const MONDAY_MS = 4 * DAY_MS
/** Longer than any request takes between its entry and its session. */
const GRACE_MS = 60_000

export type Booking = Pick<LedgerEntry, 'start' | 'end' | 'cores'> & { readonly id: string }

export interface QuotaUsage {
  readonly live_sessions: number
  readonly future_sessions: number
  readonly core_hours_this_week: number
}

export const bookingOf = ({ id, timeslot, needs }: LabletSession): Booking => ({
  id,
  start: timeslot.start,
  end: timeslot.end,
  cores: needs.cpu_cores,
})

export function usageOf(ledger: BookingLedger, now: Instant): QuotaUsage {
  const hours = coreHoursIn(weekOf(toMs(now)), Object.values(ledger))
  return {
    live_sessions: live(ledger, now).length,
    future_sessions: future(ledger, now).length,
    core_hours_this_week: rounded(hours),
  }
}

const open = (ledger: BookingLedger): LedgerEntry[] => Object.values(ledger).filter(({ is_over }) => !is_over)
const live = (ledger: BookingLedger, now: Instant): LedgerEntry[] =>
  open(ledger).filter(({ start, end }) => start <= now && now < end)
const future = (ledger: BookingLedger, now: Instant): LedgerEntry[] => open(ledger).filter(({ start }) => start > now)

/** Why the booking exceeds the limits; null if it may be made. Its own entry of an earlier try doesn't count. */
export function refusalOf(ledger: BookingLedger, booking: Booking, limits: QuotaLimits, now: Instant): Reason | null {
  return (
    beyondHorizon(booking, limits.horizon_days, now) ??
    tooManyInFuture(ledger, booking, limits.future_sessions, now) ??
    tooManyAtOnce(ledger, booking, limits.live_sessions, now) ??
    tooManyCoreHours(ledger, booking, limits.core_hours_per_week)
  )
}

function beyondHorizon({ start }: Booking, limit: Limit, now: Instant): Reason | null {
  const days = (toMs(start) - toMs(now)) / DAY_MS
  if (limit === UNLIMITED || days <= limit) return null
  return reason('quota_horizon', { days: Math.max(limit + 1, Math.round(days)), limit })
}

function tooManyInFuture(ledger: BookingLedger, { id, start }: Booking, limit: Limit, now: Instant): Reason | null {
  if (limit === UNLIMITED || start <= now) return null
  const used = future(without(ledger, id), now)
  if (used.length < limit) return null
  const frees_at = earliest(used.map(entry => entry.start))
  return reason('quota_future_sessions', { used: used.length, limit, frees_at })
}

/** Looks at every moment of the slot: sessions booked ahead would otherwise start beyond the limit. */
export function tooManyAtOnce(ledger: BookingLedger, booking: Booking, limit: Limit, now: Instant): Reason | null {
  if (limit === UNLIMITED) return null
  const others = without(ledger, booking.id)
  const from = booking.start <= now ? now : booking.start
  const starts = future(others, from).map(({ start }) => start)
  // The number of sessions grows only where one starts.
  for (const at of [from, ...starts.filter(start => start < booking.end).toSorted()]) {
    const used = live(others, at)
    if (used.length < limit) continue
    const code = at === now || limit === 0 ? 'quota_live_sessions' : 'quota_same_time'
    return reason(code, { used: used.length, limit, frees_at: earliest(used.map(({ end }) => end)) })
  }
  return null
}

const earliest = (instants: readonly Instant[]): Instant | null => instants.toSorted()[0] ?? null

/** A timeslot at the turn of the week needs hours in both weeks. */
export function tooManyCoreHours(ledger: BookingLedger, booking: Booking, limit: Limit): Reason | null {
  if (limit === UNLIMITED) return null
  const others = Object.values(without(ledger, booking.id))
  for (let weekMs = weekOf(toMs(booking.start)); weekMs < toMs(booking.end); weekMs += WEEK_MS) {
    const used = coreHoursIn(weekMs, others)
    const needed = coreHoursIn(weekMs, [booking])
    if (needed > 0 && used + needed > limit)
      return reason('quota_core_hours', {
        needed: rounded(needed),
        used: rounded(used),
        limit,
        week: toInstant(weekMs).slice(0, 10),
        frees_at: toInstant(weekMs + WEEK_MS),
      })
  }
  return null
}

const weekOf = (ms: number): number => Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS

const coreHoursIn = (weekMs: number, entries: readonly Pick<LedgerEntry, 'start' | 'end' | 'cores'>[]): number =>
  entries.reduce((sum, { start, end, cores }) => {
    const ms = Math.min(toMs(end), weekMs + WEEK_MS) - Math.max(toMs(start), weekMs)
    return sum + (cores * Math.max(0, ms)) / HOUR_MS
  }, 0)

const rounded = (hours: number): number => Math.round(hours * 10) / 10

const without = (ledger: BookingLedger, id: string): BookingLedger =>
  Object.fromEntries(Object.entries(ledger).filter(([each]) => each !== id))

/** The ledger with the booking, before its session is inserted. */
export const withBooking = (ledger: BookingLedger, { id, ...slot }: Booking, now: Instant): BookingLedger => ({
  ...ledger,
  [id]: { ...slot, since: now, is_over: false },
})

/** Whether the entry of a booking is there and far from being removed for want of a session. */
export function isHolding(ledger: BookingLedger, id: string, now: Instant): boolean {
  const entry = ledger[id]
  return entry !== undefined && toMs(now) - toMs(entry.since) <= GRACE_MS / 2
}

/** The ledger without a booking whose session was not inserted. */
export const withoutBooking = without

/** Whether a session counts. A canceled one doesn't, although its lab is still being removed. */
export const countsInQuota = ({ status, desired_status }: LabletSession): boolean =>
  desired_status !== 'TERMINATED' && COUNTING.has(status)
const COUNTING: ReadonlySet<LabletSession['status']> = new Set([
  'PENDING',
  'SCHEDULED',
  'INSTANTIATING',
  'READY',
  'RUNNING',
])

/**
 * The ledger as the sessions say. `sessions` holds what was read: a session, or null where there is none. A session that counts
 * gets an entry; an entry that was not looked up stays.
 */
export function reconciled(
  ledger: BookingLedger,
  sessions: ReadonlyMap<string, LabletSession | null>,
  now: Instant,
): BookingLedger {
  const ids = new Set([...Object.keys(ledger), ...sessions.keys()])
  const weekMs = weekOf(toMs(now))
  const entries = [...ids].flatMap((id): [string, LedgerEntry][] => {
    const entry = entryOf(ledger[id], sessions.get(id), now)
    return entry === null || (entry.is_over && toMs(entry.end) <= weekMs) ? [] : [[id, entry]]
  })
  return Object.fromEntries(entries)
}

function entryOf(
  entry: LedgerEntry | undefined,
  session: LabletSession | null | undefined,
  now: Instant,
): LedgerEntry | null {
  if (entry?.is_over || session === undefined) return entry ?? null
  const isRecent = entry !== undefined && toMs(now) - toMs(entry.since) <= GRACE_MS
  if (session === null) return isRecent ? entry : null
  if (!countsInQuota(session)) return entry === undefined || !hasRun(session) ? null : closed(entry, now)
  const { id: _, ...booked } = bookingOf(session)
  if (entry === undefined) return { ...booked, since: now, is_over: false }
  // An extension is in the ledger before it is in the session.
  return { ...entry, end: isRecent && entry.end > booked.end ? entry.end : booked.end }
}

const closed = (entry: LedgerEntry, now: Instant): LedgerEntry => ({
  ...entry,
  end: entry.end < now ? entry.end : now,
  is_over: true,
})

/** A session that never had a lab costs no core-hours. */
const hasRun = ({ state_history }: LabletSession): boolean =>
  state_history.some(({ to }) => to === 'READY' || to === 'RUNNING')
