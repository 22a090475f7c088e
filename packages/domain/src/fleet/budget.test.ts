import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import {
  type BudgetLimits,
  budgetLeft,
  budgetRefusal,
  budgetStartMs,
  budgetWarning,
  type Commitment,
  type Spent,
} from './budget.ts'

const HOUR = 3_600_000
const at = (text: string) => toMs(`${text}:00.000Z`)
const limits = (day: number | 'off', month: number | 'off' = 'off'): BudgetLimits => ({
  budget_usd_per_day: day,
  budget_usd_per_month: month,
})
const NOW = at('2026-01-31T22:00')
const hours = (fromMs: number, count: number, usdPerHour: number): Commitment => ({
  fromMs,
  untilMs: fromMs + count * HOUR,
  usdPerHour,
})
const left = (given: BudgetLimits, span: { fromMs: number; untilMs: number }, more: Partial<Given> = {}) =>
  budgetLeft(given, span, { spent: [], committed: [], ...more })
interface Given {
  readonly spent: readonly Spent[]
  readonly committed: readonly Commitment[]
}
const moment = { fromMs: NOW, untilMs: NOW + 1 }

describe('the periods of a budget', () => {
  it.each<[string, Record<'day' | 'month', [from: string, until: string]>]>([
    ['2026-01-31T22:00', { day: ['2026-01-31', '2026-02-01'], month: ['2026-01-01', '2026-02-01'] }],
    ['2026-02-01T00:00', { day: ['2026-02-01', '2026-02-02'], month: ['2026-02-01', '2026-03-01'] }],
    ['2028-02-29T23:59', { day: ['2028-02-29', '2028-03-01'], month: ['2028-02-01', '2028-03-01'] }],
    ['2026-12-31T12:00', { day: ['2026-12-31', '2027-01-01'], month: ['2026-12-01', '2027-01-01'] }],
  ])('at %s are UTC days and months', (now, expected) => {
    const nowMs = at(now)
    const windows = left(limits(1, 2), { fromMs: nowMs, untilMs: nowMs + 1 })
    const dates = windows.map(({ period, fromMs, untilMs }) => [
      period,
      [fromMs, untilMs].map(ms => toInstant(ms).slice(0, 10)),
    ])
    expect(Object.fromEntries(dates)).toEqual(expected)
    expect(budgetStartMs(limits(1), nowMs)).toBe(at(`${expected.day[0]}T00:00`))
    expect(budgetStartMs(limits(1, 2), nowMs)).toBe(at(`${expected.month[0]}T00:00`))
    expect(budgetStartMs(limits('off'), nowMs)).toBe(nowMs)
  })

  it('are none without a budget', () => {
    expect(left(limits('off'), { fromMs: NOW, untilMs: NOW + 100 * HOUR })).toEqual([])
  })
})

describe('what is left of a budget', () => {
  it('is the limit, less what was spent and what runs on', () => {
    const spent = [{ fromMs: NOW - 4 * HOUR, untilMs: NOW, usd: 16 }]
    const [day] = left(limits(100), moment, { spent, committed: [hours(NOW, 1.5, 4)] })
    expect(day).toMatchObject({ period: 'day', spentUsd: 16, committedUsd: 6, leftUsd: 78 })
  })

  it('counts what is spent over midnight in both days', () => {
    const span = { fromMs: NOW, untilMs: NOW + 10 * HOUR }
    const [today, tomorrow] = left(limits(100), span, { committed: [hours(NOW, 5, 4)] })
    expect([today?.committedUsd, tomorrow?.committedUsd]).toEqual([8, 12])
  })

  it('is less than nothing when people spent more', () => {
    const spent = [{ fromMs: NOW - HOUR, untilMs: NOW, usd: 120 }]
    expect(left(limits(100), moment, { spent })[0]?.leftUsd).toBe(-20)
  })

  it('adds up over days to what is left of the month, for any spending', () => {
    const someHours = fc.tuple(fc.nat({ max: 500 }), fc.nat({ max: 80 }), fc.nat({ max: 9 }))
    fc.assert(
      fc.property(fc.array(someHours, { maxLength: 8 }), some => {
        const committed = some.map(([from, count, usd]) => hours(at('2026-03-02T00:00') + from * HOUR, count, usd))
        const month = { fromMs: at('2026-03-01T00:00'), untilMs: at('2026-04-01T00:00') }
        const windows = left(limits(50, 1000), month, { committed })
        const usedBy = (period: string) =>
          windows.filter(each => each.period === period).reduce((sum, each) => sum + each.committedUsd, 0)
        expect(windows).toHaveLength(32)
        expect(usedBy('day')).toBeCloseTo(usedBy('month'), 6)
      }),
    )
  })
})

describe('a purchase', () => {
  const windows = (spentUsd: number, given = limits(100)) =>
    left(
      given,
      { fromMs: NOW, untilMs: NOW + 10 * HOUR },
      {
        spent: [{ fromMs: NOW - HOUR, untilMs: NOW, usd: spentUsd }],
      },
    )

  it('is allowed to the last cent', () => {
    expect(budgetRefusal(windows(92), [hours(NOW, 2, 4)])).toBeNull()
    expect(budgetRefusal(windows(92.01), [hours(NOW, 2, 4)])).toMatchObject({
      code: 'budget_exceeded',
      params: { period: 'day', date: '2026-01-31', limit: 100, spent_usd: 92.01, committed_usd: 0, needed_usd: 8 },
    })
  })

  it('is refused by the budget of tomorrow too', () => {
    const refusal = budgetRefusal(left(limits(10), { fromMs: NOW, untilMs: NOW + 10 * HOUR }), [hours(NOW, 6, 4)])
    expect(refusal).toMatchObject({ code: 'budget_exceeded', params: { date: '2026-02-01', needed_usd: 16 } })
  })

  it('is refused by the month', () => {
    expect(budgetRefusal(windows(0, limits('off', 1)), [hours(NOW, 1, 4)])).toMatchObject({
      params: { period: 'month', date: '2026-01', limit: 1 },
    })
  })

  it('that costs nothing is allowed whatever was spent', () => {
    expect(budgetRefusal(windows(200), [hours(NOW, 1, 0)])).toBeNull()
  })

  it('never exceeds a budget, however many follow each other', () => {
    const aPurchase = fc.record({ count: fc.nat({ max: 30 }), usd: fc.integer({ min: 1, max: 12 }) })
    fc.assert(
      fc.property(fc.array(aPurchase, { maxLength: 20 }), fc.nat({ max: 200 }), (purchases, limit) => {
        const span = { fromMs: NOW, untilMs: NOW + 40 * HOUR }
        let committed: Commitment[] = []
        for (const { count, usd } of purchases) {
          const more = hours(NOW, count, usd)
          const refusal = budgetRefusal(left(limits(limit), span, { committed }), [more])
          if (refusal === null) committed = [...committed, more]
        }
        for (const { leftUsd } of left(limits(limit), span, { committed }))
          expect(leftUsd).toBeGreaterThanOrEqual(-1e-6)
      }),
    )
  })
})

it.each([
  [79.99, null],
  [80, 'budget_short'],
  [99.99, 'budget_short'],
  [100, 'budget_used_up'],
  [140, 'budget_used_up'],
])('%s of 100 USD is a warning: %s', (usd, code) => {
  const [window] = left(limits(100), moment, { spent: [{ fromMs: NOW - HOUR, untilMs: NOW, usd }] })
  expect(window === undefined ? undefined : (budgetWarning(window)?.code ?? null)).toBe(code)
})
