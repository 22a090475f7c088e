import { toInstant, toMs } from '@lcm/domain/instant'
import { type CostInterval, closeCost, costOf, intervalOf } from '@lcm/domain/worker/cost'
import { WORKER_STATUSES, type Worker } from '@lcm/domain/worker/worker'
import { aWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RESERVATION } from '../../testing/a-fleet.ts'
import { costSince, costTotals, sum } from './fleet-cost.ts'
import { costByDay } from './fleet-summary.ts'

const at = (text: string) => `2026-03-${text}:00.000Z`
const interval = (from: string, to: string, usd: number, saved_usd = 0) => ({
  from: at(from),
  to: at(to),
  usd,
  saved_usd,
})

describe('cost by day', () => {
  it('lists every day from the first to today, also days without cost', () => {
    expect(costByDay([], at('01T22:00'), at('03T01:00'))).toEqual([
      { day: '2026-03-01', spent_usd: 0, saved_usd: 0 },
      { day: '2026-03-02', spent_usd: 0, saved_usd: 0 },
      { day: '2026-03-03', spent_usd: 0, saved_usd: 0 },
    ])
  })

  it('splits an interval over its days, in UTC', () => {
    const spans = [interval('01T12:00', '03T12:00', 48, 0), interval('02T00:00', '03T00:00', 0, 24)]
    expect(costByDay(spans, at('01T00:00'), at('03T12:00'))).toEqual([
      { day: '2026-03-01', spent_usd: 12, saved_usd: 0 },
      { day: '2026-03-02', spent_usd: 24, saved_usd: 24 },
      { day: '2026-03-03', spent_usd: 12, saved_usd: 0 },
    ])
  })

  it('leaves out intervals before the first day', () => {
    expect(costByDay([interval('01T00:00', '02T12:00', 36)], at('02T06:00'), at('02T12:00'))).toEqual([
      { day: '2026-03-02', spent_usd: 6, saved_usd: 0 },
    ])
  })

  it('counts intervals of zero length', () => {
    expect(costByDay([interval('02T12:00', '02T12:00', 5)], at('02T00:00'), at('02T23:00'))[0]?.spent_usd).toBe(5)
  })

  it('counts an interval that a faster clock wrote for tomorrow as today', () => {
    const days = costByDay([interval('02T22:00', '03T02:00', 4)], at('02T00:00'), at('02T23:59'))
    expect(days).toEqual([{ day: '2026-03-02', spent_usd: 4, saved_usd: 0 }])
  })

  it('is complete for ten thousand workers over a week', () => {
    const week = Array.from({ length: 10_000 }, () => interval('01T00:00', '08T00:00', 7, 0))
    const days = costByDay(week, at('01T00:00'), at('08T00:00'))
    expect(days.map(day => Math.round(day.spent_usd))).toEqual([...Array(7).fill(10_000), 0])
  })
})

const change = fc.record({
  afterMs: fc.integer({ min: 0, max: 100_000_000 }),
  status: fc.constantFrom(...WORKER_STATUSES),
  ec2_instance_id: fc.constantFrom('i-1', null),
  cost_per_hour_usd: fc.constantFrom(null, 0, 3.9641),
  disk: fc.constantFrom(null, { gb: 200, usd_per_hour: 0.0219 }),
  reservations: fc.constantFrom({}, { 'ls-1': RESERVATION }),
})

/** The intervals of a worker that changes like this, and the worker at the end. */
function intervalsOf(changes: readonly (Partial<Worker> & { readonly afterMs: number })[], startMs: number) {
  const intervals: CostInterval[] = []
  let worker = aWorker()
  let nowMs = startMs
  for (const { afterMs, ...facts } of changes) {
    nowMs += afterMs
    const closed = closeCost(worker, { ...worker, ...facts }, toInstant(nowMs))
    if (closed?.interval) intervals.push(closed.interval)
    worker = { ...worker, ...facts, ...(closed && { billing: closed.billing }) }
  }
  const now = toInstant(nowMs + 5_000_000)
  const open = intervalOf(worker, now)
  return { intervals: [...intervals, ...(open ? [open] : [])], worker, now }
}

it('days, shares and the sum of each worker are one total, whatever changes when', () => {
  const start = at('01T00:00')
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), changes => {
      const { intervals, worker, now } = intervalsOf(changes, toMs(start))
      const { spent_usd, by_cause } = costTotals(intervals.map(each => costSince(each, start)))
      expect(costOf(worker, now).spent_usd).toBeCloseTo(spent_usd, 6)
      expect(sum(Object.values(by_cause), Number)).toBeCloseTo(spent_usd, 6)
      expect(sum(costByDay(intervals, start, now), day => day.spent_usd)).toBeCloseTo(spent_usd, 6)
      const overlaps = intervals.filter(({ from }, index) => from < (intervals[index - 1]?.to ?? from))
      expect(overlaps).toEqual([])
    }),
  )
})
