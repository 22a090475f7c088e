import { aSession } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { LabletSession, SessionStatus } from '../session/lablet-session.ts'
import {
  bookingOf,
  countsInQuota,
  isHolding,
  reconciled,
  refusalOf,
  tooManyCoreHours,
  usageOf,
  withBooking,
  withoutBooking,
} from './booking-ledger.ts'
import type { BookingLedger, LedgerEntry, QuotaLimits } from './quota.ts'

const HOUR_MS = 3_600_000
/** A Wednesday. */
const NOW_MS = toMs('2026-11-18T12:00:00.000Z')
const NOW = toInstant(NOW_MS)
const inHours = (hours: number) => toInstant(NOW_MS + hours * HOUR_MS)

const LIMITS: QuotaLimits = {
  live_sessions: 2,
  future_sessions: 3,
  horizon_days: 60,
  core_hours_per_week: 1000,
}

const entry = (from: number, to: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  start: inHours(from),
  end: inHours(to),
  cores: 4,
  since: inHours(-1),
  is_over: false,
  ...more,
})
const booking = (from: number, to: number, cores = 4) => ({
  id: 'ls-new',
  start: inHours(from),
  end: inHours(to),
  cores,
})

const session = (from: number, to: number, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({
    id: 'ls-1',
    timeslot: { start: inHours(from), end: inHours(to) },
    needs: { cpu_cores: 4, memory_gb: 1, storage_gb: 1, node_count: 1 },
    status: 'PENDING',
    desired_status: 'RUNNING',
    state_history: [],
    ...more,
  })

const HAD_A_LAB: Partial<LabletSession> = {
  state_history: [{ from: 'INSTANTIATING', to: 'READY', at: NOW, because: reason('lab_ready') }],
}
const CANCELED = { desired_status: 'TERMINATED' } as const

describe('a booking', () => {
  it('is refused while as many sessions are open as the limit allows, with the time when one ends', () => {
    const ledger = { a: entry(-1, 2), b: entry(-1, 1) }
    expect(refusalOf(ledger, booking(0, 1), LIMITS, NOW)).toMatchObject({
      code: 'quota_live_sessions',
      params: { used: 2, limit: 2, frees_at: inHours(1) },
    })
    expect(refusalOf({ a: entry(-1, 2) }, booking(0, 1), LIMITS, NOW)).toBeNull()
    expect(refusalOf(ledger, booking(1, 2), LIMITS, NOW)).toBeNull()
  })

  it('that starts later is refused while as many wait for their start as the limit allows', () => {
    const ledger = { a: entry(5, 6), b: entry(3, 4), c: entry(7, 8) }
    expect(refusalOf(ledger, booking(1, 2), LIMITS, NOW)).toMatchObject({
      code: 'quota_future_sessions',
      params: { used: 3, limit: 3, frees_at: inHours(3) },
    })
    expect(refusalOf(ledger, booking(0, 1), LIMITS, NOW)).toBeNull()
  })

  it('is refused while as many sessions as the limit allows are booked at any moment of its slot', () => {
    const refused = { code: 'quota_same_time', params: { used: 2, limit: 2, frees_at: inHours(4) } }
    const two = { a: entry(2, 5), b: entry(3, 4) }
    for (const [from, to] of [
      [3, 4],
      [0, 9],
      [2.5, 3.5],
      [3.5, 6],
    ] as const)
      expect(refusalOf(two, booking(from, to), LIMITS, NOW)).toMatchObject(refused)
    for (const [from, to] of [
      [0, 3],
      [2, 3],
      [4, 9],
    ] as const)
      expect(refusalOf(two, booking(from, to), LIMITS, NOW)).toBeNull()
    expect(refusalOf({ ...two, 'ls-new': entry(3, 4) }, booking(4, 5), LIMITS, NOW)).toBeNull()
    expect(refusalOf({}, booking(2, 3), { ...LIMITS, live_sessions: 0 }, NOW)).toMatchObject({
      code: 'quota_live_sessions',
      params: { used: 0, limit: 0 },
    })
  })

  it('is not refused for sessions that are over', () => {
    const ledger = { a: entry(-1, 1, { is_over: true }), b: entry(-3, -1), c: entry(-3, 0) }
    expect(refusalOf(ledger, booking(0, 1), { ...LIMITS, live_sessions: 1 }, NOW)).toBeNull()
  })

  it('is refused beyond the horizon', () => {
    const days = 24
    expect(refusalOf({}, booking(60 * days, 60 * days + 1), LIMITS, NOW)).toBeNull()
    expect(refusalOf({}, booking(60 * days + 1, 60 * days + 2), LIMITS, NOW)).toMatchObject({
      code: 'quota_horizon',
      params: { days: 61, limit: 60 },
    })
    expect(refusalOf({}, booking(90 * days + 5, 91 * days), LIMITS, NOW)).toMatchObject({ params: { days: 90 } })
    expect(refusalOf({}, booking(90 * days, 90 * days + 1), { ...LIMITS, horizon_days: 'unlimited' }, NOW)).toBeNull()
  })

  it('is refused beyond the core-hours of its week, with the start of the next week', () => {
    const ledger = { a: entry(-1, 1, { cores: 400, is_over: true }) }
    expect(refusalOf(ledger, booking(0, 1, 200), LIMITS, NOW)).toBeNull()
    expect(refusalOf(ledger, booking(0, 1, 201), LIMITS, NOW)).toMatchObject({
      code: 'quota_core_hours',
      params: { needed: 201, used: 800, limit: 1000, week: '2026-11-16', frees_at: '2026-11-23T00:00:00.000Z' },
    })
    // The next week has its own hours.
    expect(refusalOf(ledger, booking(24 * 5, 24 * 5 + 1, 900), LIMITS, NOW)).toBeNull()
  })

  it('at the turn of the week needs hours in both weeks', () => {
    // Monday 00:00 is 108 hours away.
    const slot = booking(104, 112, 100)
    expect(tooManyCoreHours({}, slot, 399)).toMatchObject({ params: { needed: 400, week: '2026-11-16' } })
    expect(tooManyCoreHours({ a: entry(120, 121, { cores: 1 }) }, slot, 400)).toMatchObject({
      params: { needed: 400, used: 1, week: '2026-11-23' },
    })
    expect(tooManyCoreHours({}, slot, 400)).toBeNull()
  })

  it('that is repeated does not count twice', () => {
    const ledger = { 'ls-new': entry(0, 1), b: entry(-1, 1) }
    expect(refusalOf(ledger, booking(0, 1), LIMITS, NOW)).toBeNull()
    expect(Object.keys(withBooking(ledger, booking(0, 1), NOW))).toEqual(['ls-new', 'b'])
  })

  it('without limits is never refused', () => {
    const none: QuotaLimits = {
      live_sessions: 'unlimited',
      future_sessions: 'unlimited',
      horizon_days: 'unlimited',
      core_hours_per_week: 'unlimited',
    }
    const ledger = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`ls-${n}`, entry(-1, 1)]))
    for (const each of [booking(0, 1, 1e6), booking(1e4, 1e4 + 1)])
      expect(refusalOf(ledger, each, none, NOW)).toBeNull()
  })
})

it('counts open sessions, future sessions and the hours of this week', () => {
  const ledger = { a: entry(-1, 1), b: entry(-2, -1, { is_over: true }), c: entry(24 * 6, 24 * 6 + 1), d: entry(1, 2) }
  expect(usageOf(ledger, NOW)).toEqual({ live_sessions: 1, future_sessions: 2, core_hours_this_week: 16 })
})

describe('the ledger is reconciled with the sessions', () => {
  const with1 = (read: LabletSession | null) => new Map([['ls-1', read]])
  const recent = { since: inHours(-0.01) }

  it.each<[string, BookingLedger, LabletSession | null, BookingLedger]>([
    ['an open session without an entry gets one', {}, session(0, 2), { 'ls-1': entry(0, 2, { since: NOW }) }],
    [
      'an entry without a session stays at first',
      { 'ls-1': entry(0, 2, recent) },
      null,
      { 'ls-1': entry(0, 2, recent) },
    ],
    ['and is removed later', { 'ls-1': entry(0, 2) }, null, {}],
    [
      'an extension in the ledger stays at first',
      { 'ls-1': entry(-1, 3, recent) },
      session(-1, 2),
      { 'ls-1': entry(-1, 3, recent) },
    ],
    ['and follows the session later', { 'ls-1': entry(-1, 3) }, session(-1, 2), { 'ls-1': entry(-1, 2) }],
    [
      'an extension by an operator follows',
      { 'ls-1': entry(-1, 2, recent) },
      session(-1, 3),
      { 'ls-1': entry(-1, 3, recent) },
    ],
    [
      'a canceled session that had a lab ends now',
      { 'ls-1': entry(-1, 2) },
      session(-1, 2, { ...CANCELED, ...HAD_A_LAB }),
      { 'ls-1': entry(-1, 0, { is_over: true }) },
    ],
    ['one without a lab costs nothing', { 'ls-1': entry(-1, 2) }, session(-1, 2, CANCELED), {}],
    [
      'an ended session keeps its hours',
      { 'ls-1': entry(-2, -1) },
      session(-2, -1, { status: 'ARCHIVED', ...HAD_A_LAB }),
      { 'ls-1': entry(-2, -1, { is_over: true }) },
    ],
    ['an ended session without an entry gets none', {}, session(-2, -1, { status: 'ARCHIVED', ...HAD_A_LAB }), {}],
    [
      'an ended entry never opens again',
      { 'ls-1': entry(-2, -1, { is_over: true }) },
      session(-2, 2),
      { 'ls-1': entry(-2, -1, { is_over: true }) },
    ],
    ['hours of last week are forgotten', { 'ls-1': entry(-200, -190, { is_over: true }) }, session(-200, -190), {}],
  ])('%s', (_, ledger, read, expected) => {
    expect(reconciled(ledger, with1(read), NOW)).toEqual(expected)
  })

  it('an entry that was not looked up stays', () => {
    const ledger = { a: entry(0, 2), b: entry(-9, -8) }
    expect(reconciled(ledger, new Map(), NOW)).toEqual(ledger)
  })
})

it('a session counts until it is canceled or its end has begun', () => {
  const counting = ['PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING']
  const all = [...counting, 'STOPPING', 'STOPPED', 'EXPIRED', 'ARCHIVED', 'TERMINATED'] as SessionStatus[]
  expect(all.filter(status => countsInQuota(session(0, 1, { status })))).toEqual(counting)
  expect(all.filter(status => countsInQuota(session(0, 1, { status, ...CANCELED })))).toEqual([])
})

it('an entry holds a booking long before it is removed for want of a session', () => {
  const ledger = withBooking({}, bookingOf(session(0, 1)), NOW)
  for (let seconds = 0; seconds <= 90; seconds += 1) {
    const now = toInstant(NOW_MS + seconds * 1000)
    const isKept = reconciled(ledger, new Map([['ls-1', null]]), now)['ls-1'] !== undefined
    if (isHolding(ledger, 'ls-1', now)) expect(isKept).toBe(true)
    expect(isHolding(ledger, 'ls-1', now)).toBe(seconds <= 30)
  }
  expect(isHolding(withoutBooking(ledger, 'ls-1'), 'ls-1', NOW)).toBe(false)
})

describe('whatever is booked, one after the other', () => {
  const slot = fc.record({
    from: fc.integer({ min: -3, max: 400 }),
    hours: fc.integer({ min: 1, max: 100 }),
    cores: fc.integer({ min: 0, max: 40 }),
  })

  it('the accepted bookings never exceed the limits', () => {
    fc.assert(
      fc.property(fc.array(slot, { maxLength: 40 }), slots => {
        let ledger: BookingLedger = {}
        for (const [nth, { from, hours, cores }] of slots.entries()) {
          const wanted = { ...booking(from, from + hours, cores), id: `ls-${nth}` }
          if (refusalOf(ledger, wanted, LIMITS, NOW) === null) ledger = withBooking(ledger, wanted, NOW)
        }
        const used = usageOf(ledger, NOW)
        expect(used.live_sessions).toBeLessThanOrEqual(2)
        const starts = Object.values(ledger).flatMap(({ start }) => (toMs(start) < NOW_MS ? [] : [start]))
        for (const start of starts) expect(usageOf(ledger, start).live_sessions).toBeLessThanOrEqual(2)
        expect(used.future_sessions).toBeLessThanOrEqual(3)
        for (let week = -1; week < 5; week += 1) {
          const at = toInstant(NOW_MS + week * 7 * 24 * HOUR_MS)
          expect(usageOf(ledger, at).core_hours_this_week).toBeLessThanOrEqual(1000)
        }
      }),
    )
  })
})
