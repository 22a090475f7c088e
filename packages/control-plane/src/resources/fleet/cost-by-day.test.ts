import { describe, expect, it } from 'vitest'
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
