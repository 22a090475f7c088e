import { feasibleSchedule } from '@lcm/domain/economy/feasible-schedule'
import { lowerBound } from '@lcm/domain/economy/lower-bound'
import { reason } from '@lcm/domain/reason'
import { seededRandom } from '@lcm/testkit/seeded-random'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bootMs, MACHINE } from './cloud-times.ts'
import { alwaysOn, workHours } from './fixed-fleet.ts'
import { NO_FAULTS } from './fleet.ts'
import { labSpans } from './lab-spans.ts'
import { plannerPolicy } from './planner-policy.ts'
import { playTrace } from './play-trace.ts'
import type { FleetView, Order, Policy } from './policy.ts'
import { busiestWednesday, faultsOf } from './scenario.ts'
import { SETTINGS, schedulerPolicy } from './scheduler-policy.ts'
import { scoreOf } from './score.ts'
import { syntheticTrace } from './synthetic-trace.ts'
import { type Booking, DAY_MS, HOUR_MS, inWeeks, LAB_SIZES, LABS, MINUTE_MS, TERM_MS } from './trace.ts'

const NINE_MS = TERM_MS + 9 * HOUR_MS
const booking = (more: Partial<Booking> = {}): Booking => ({
  id: 's1',
  kind: 'class',
  course: 'NET-1',
  lab: 'medium',
  bookedMs: NINE_MS - DAY_MS,
  startMs: NINE_MS,
  endMs: NINE_MS + 2 * HOUR_MS,
  canceledMs: null,
  leftMs: NINE_MS + 2 * HOUR_MS,
  isNoShow: false,
  ...more,
})
const aClass = (count: number, more: Partial<Booking> = {}) =>
  Array.from({ length: count }, (_, n) => booking({ ...more, id: `${more.course ?? 'c'}-${n}` }))

const leastOf = (bookings: readonly Booking[]) => ({
  bound: lowerBound(labSpans(bookings), MACHINE),
  feasible: feasibleSchedule(labSpans(bookings), MACHINE),
})
const played = (bookings: readonly Booking[], policy = schedulerPolicy('LCM')) =>
  scoreOf(playTrace(bookings, policy), leastOf(bookings))

/** Gives these orders at the first decision at or after a time. */
const scripted = (script: readonly { readonly ms: number; orders(view: FleetView): Order[] }[]): Policy => {
  let done = 0
  return {
    name: 'scripted',
    decide: view => {
      const next = script[done]
      if (next === undefined || view.nowMs < next.ms)
        return { orders: [], nextMs: next?.ms ?? Number.POSITIVE_INFINITY }
      done += 1
      return { orders: next.orders(view), nextMs: script[done]?.ms ?? Number.POSITIVE_INFINITY }
    },
  }
}
const buy = { ms: NINE_MS - HOUR_MS, orders: (): Order[] => [{ kind: 'buy', worker_id: 'w-1', session_ids: [] }] }
const place = (ids: readonly string[], ms = NINE_MS - 10 * MINUTE_MS) => ({
  ms,
  orders: (): Order[] =>
    ids.map(session_id => ({ kind: 'assign', session_id, worker_id: 'w-1', labStartMs: NINE_MS - 9 * MINUTE_MS })),
})

describe('a trace that is played', () => {
  it('has a class READY when its slot begins, and pays for its machine until the idle timeout', () => {
    const score = played(aClass(8))
    expect(score).toMatchObject({ late: 0, unserved: 0, boots: 1, peak: 1 })
    expect(score.hours.lab).toBeGreaterThan(2 + 7 / 60)
    expect(score.hours.lab).toBeLessThan(2 + 13 / 60)
    expect(score.hours.idle).toBeGreaterThan(1)
    expect(score.hours.idle).toBeLessThan(1.25)
  })

  it('counts a session as late that is not READY when its slot begins', () => {
    const late = schedulerPolicy('late', { ...SETTINGS, schedule_ahead_minutes: 0 })
    expect(played(aClass(8), late)).toMatchObject({ late: 8, latePercent: 100, unserved: 0 })
  })

  it('counts the waiting of walk-ins, who are never late', () => {
    const score = played([booking({ bookedMs: NINE_MS, kind: 'self' })])
    expect(score.late).toBe(0)
    expect(score.walkInP50).toBeGreaterThan(5 + 8)
  })

  it('counts sessions that no machine serves as late and unserved', () => {
    expect(played(aClass(3), scripted([]))).toMatchObject({ late: 3, unserved: 3, usd: 0 })
  })

  it('neither serves nor counts canceled sessions', () => {
    const canceled = aClass(3, { canceledMs: NINE_MS - 2 * HOUR_MS })
    expect(played(canceled)).toMatchObject({ usd: 0, late: 0, unserved: 0 })
    expect(leastOf(canceled).bound.usd).toBe(0)
  })

  it('keeps the capacity of an ended session until its lab is removed', () => {
    const first = aClass(8, { course: 'a', endMs: NINE_MS + HOUR_MS, leftMs: NINE_MS + HOUR_MS })
    const next = booking({ id: 'b', startMs: NINE_MS + HOUR_MS, endMs: NINE_MS + 2 * HOUR_MS })
    const early = [buy, place(first.map(({ id }) => id)), place(['b'], NINE_MS + HOUR_MS)]
    expect(() => playTrace([...first, next], scripted(early))).toThrow(/placed b on w-1: .*cores/)
    const inTime = [buy, place(first.map(({ id }) => id)), place(['b'], NINE_MS + HOUR_MS + 2 * MINUTE_MS)]
    expect(played([...first, next], scripted(inTime))).toMatchObject({ unserved: 0, late: 1 })
  })

  it('refuses orders that LCM would refuse', () => {
    const stop = {
      ms: NINE_MS,
      orders: (): Order[] => [{ kind: 'stop', worker_id: 'w-1', because: reason('worker_idle') }],
    }
    expect(() => playTrace(aClass(1), scripted([buy, place(['c-0']), stop]))).toThrow('which has sessions')
    expect(() => playTrace(aClass(1), scripted([buy, place(['c-0'], buy.ms + 1)]))).toThrow('placed c-0 on w-1')
    expect(() => playTrace(aClass(1), scripted([buy, place(['other'])]))).toThrow('which is unknown')
    expect(() => playTrace(aClass(1), scripted([place(['c-0'])]))).toThrow('which is no worker')
  })

  it('bills neither a machine that EC2 refuses nor one that stops', () => {
    const stop = {
      ms: NINE_MS,
      orders: (): Order[] => [{ kind: 'stop', worker_id: 'w-1', because: reason('worker_idle') }],
    }
    const { hours } = playTrace(aClass(1), scripted([buy, stop]))
    expect(hours.boot + hours.idle).toBeCloseTo(1)
  })

  it('boots twice as slowly on the slow day', () => {
    const slowDay = { fromMs: TERM_MS, untilMs: TERM_MS + DAY_MS }
    const hours = (faults: typeof NO_FAULTS) => playTrace(aClass(1), scripted([buy]), { faults }).hours.boot
    expect(hours({ ...NO_FAULTS, slowDay })).toBeCloseTo(2 * hours(NO_FAULTS))
  })

  it('delays refused starts by 20 minutes', () => {
    const orders = (): Order[] =>
      Array.from({ length: 400 }, (_, n) => ({ kind: 'buy', worker_id: `w-${n}`, session_ids: [] }))
    let refused = 0
    const watch = scripted([
      { ms: buy.ms, orders },
      {
        ms: buy.ms + 19 * MINUTE_MS,
        orders: ({ workers }) => {
          refused = workers.filter(({ conditions }) => conditions.length > 0).length
          return []
        },
      },
    ])
    const bookings = aClass(1)
    const { boots } = playTrace(bookings, watch, { faults: faultsOf('refusals', bookings) })
    expect(boots).toBe(400)
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(20)
  })

  it('is the same for the same seed', () => {
    const bookings = syntheticTrace(3, 1).filter(({ startMs }) => startMs < TERM_MS + 2 * DAY_MS)
    const [one, other] = [1, 1].map(seed => playTrace(bookings, schedulerPolicy('LCM'), { seed }))
    expect(one).toEqual(other)
    expect(playTrace(bookings, schedulerPolicy('LCM'), { seed: 2 }).usd).not.toBe(one?.usd)
  })
})

describe('the plan', () => {
  const bookings = inWeeks(syntheticTrace(5, 3), 2, 2)

  it('has a class READY when its slot begins, and stops its machine at once', () => {
    const score = played(aClass(8), plannerPolicy('LCM'))
    expect(score).toMatchObject({ late: 0, unserved: 0, boots: 1, peak: 1 })
    expect(score.hours.idle).toBeLessThan(0.4)
  })

  it('hands a machine from one class to the next', () => {
    const first = aClass(8, { course: 'a', endMs: NINE_MS + HOUR_MS, leftMs: NINE_MS + HOUR_MS })
    const [startMs, endMs] = [NINE_MS + HOUR_MS + 10 * MINUTE_MS, NINE_MS + 3 * HOUR_MS]
    const next = aClass(8, { course: 'b', startMs, endMs, leftMs: endMs })
    expect(played([...first, ...next], plannerPolicy('LCM'))).toMatchObject({ late: 0, unserved: 0, boots: 1, peak: 1 })
  })

  it('costs less than placing ahead, and is not late', () => {
    const planned = played(bookings, plannerPolicy('LCM'))
    expect(planned.usd).toBeLessThan(0.85 * played(bookings).usd)
    expect(planned).toMatchObject({ late: 0, unservedBooked: 0 })
  })

  it('takes another machine in time for one that EC2 refuses', () => {
    const refused = playTrace(bookings, plannerPolicy('LCM'), { faults: faultsOf('refusals', bookings) })
    expect(scoreOf(refused, leastOf(bookings)).latePercent).toBeLessThan(0.5)
  })
})

describe('the baselines', () => {
  const bookings = inWeeks(syntheticTrace(5, 3), 2, 2)

  it('cost more than LCM, which costs more than the schedule and the bound', () => {
    const least = leastOf(bookings)
    const lcm = played(bookings)
    expect(least.bound.usd).toBeLessThanOrEqual(least.feasible.usd)
    expect(least.feasible.usd).toBeLessThan(lcm.usd)
    const always = played(bookings, alwaysOn(lcm.peak))
    expect(lcm.usd).toBeLessThan(always.usd)
    expect(always.unserved).toBe(0)
  })

  it('leave out what is outside of work hours', () => {
    const evening = booking({
      startMs: NINE_MS + 11 * HOUR_MS,
      endMs: NINE_MS + 12 * HOUR_MS,
      leftMs: NINE_MS + 12 * HOUR_MS,
    })
    const sunday = booking({
      startMs: NINE_MS + 6 * DAY_MS,
      endMs: NINE_MS + 6 * DAY_MS + HOUR_MS,
      leftMs: NINE_MS + 6 * DAY_MS + HOUR_MS,
    })
    expect(played([booking({ id: 'in' }), evening], workHours(1))).toMatchObject({ unserved: 1 })
    expect(played([sunday], workHours(1))).toMatchObject({ unserved: 1, hours: { lab: 0 } })
  })
})

const aBooking = fc
  .record({
    start: fc.nat({ max: 600 }),
    length: fc.integer({ min: 20, max: 180 }),
    stayed: fc.double({ min: 0.3, max: 1, noNaN: true }),
    lab: fc.constantFrom(...LAB_SIZES),
    noticeH: fc.constantFrom(2, 24),
    isCanceled: fc.integer({ max: 9, min: 0 }).map(n => n === 0),
  })
  .map(({ start, length, stayed, lab, noticeH, isCanceled }) => {
    const startMs = NINE_MS + start * MINUTE_MS
    return booking({
      lab,
      startMs,
      endMs: startMs + length * MINUTE_MS,
      leftMs: startMs + Math.ceil(length * stayed) * MINUTE_MS,
      bookedMs: startMs - noticeH * HOUR_MS,
      canceledMs: isCanceled ? startMs - HOUR_MS : null,
    })
  })

/** The luckiest times: no draw is shorter. */
const LUCKY = { ...MACHINE, boot_ms: 5 * MINUTE_MS }
const luckySpans = (bookings: readonly Booking[]) =>
  bookings
    .filter(({ canceledMs }) => canceledMs === null)
    .map(({ lab, startMs, leftMs }) => ({
      needs: LABS[lab].needs,
      from_ms: startMs - 0.9 * LABS[lab].startMs,
      until_ms: leftMs + MINUTE_MS,
    }))

describe('every small trace without walk-ins', () => {
  it('costs at least the bound and the schedule under policies that serve all in time', () => {
    let inTime = 0
    fc.assert(
      fc.property(fc.array(aBooking, { minLength: 1, maxLength: 30 }), drawn => {
        const bookings = drawn.map((each, n) => ({ ...each, id: `s-${n}` }))
        const spans = luckySpans(bookings)
        const least = { bound: lowerBound(spans, LUCKY), feasible: feasibleSchedule(spans, LUCKY) }
        for (const policy of [plannerPolicy('LCM'), schedulerPolicy('quick stops', QUICK_STOPS)]) {
          const { usd, late, unserved } = scoreOf(playTrace(bookings, policy), least)
          if (late + unserved > 0) continue
          inTime += 1
          expect(least.bound.usd).toBeLessThanOrEqual(least.feasible.usd)
          expect(least.feasible.usd).toBeLessThanOrEqual(usd)
        }
      }),
      { seed: 8, numRuns: 60 },
    )
    expect(inTime).toBeGreaterThan(60)
  })
})
const QUICK_STOPS = { ...SETTINGS, idle_timeout_seconds: 300, idle_snooze_seconds: 0, scale_down_cooldown_seconds: 0 }

describe('the assumptions', () => {
  it('have the mean boot that the bound is computed with', () => {
    const random = seededRandom(1)
    const boots = Array.from({ length: 20_000 }, () => bootMs(random))
    expect(boots.reduce((sum, ms) => sum + ms, 0) / boots.length / MACHINE.boot_ms).toBeCloseTo(1, 2)
    expect(boots.toSorted((a, b) => a - b)[10_000]).toBeCloseTo(9 * MINUTE_MS, -4)
  })

  it('find the Wednesday with most sessions', () => {
    const on = (day: number, count: number) =>
      aClass(count, { course: `d${day}`, startMs: TERM_MS + day * DAY_MS + HOUR_MS })
    const fromMs = TERM_MS + 9 * DAY_MS
    expect(busiestWednesday([...on(1, 9), ...on(2, 3), ...on(9, 4)])).toEqual({ fromMs, untilMs: fromMs + DAY_MS })
    expect(busiestWednesday(on(1, 9))).toBeNull()
  })
})
