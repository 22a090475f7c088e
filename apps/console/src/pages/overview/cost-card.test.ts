import { expect, it } from 'vitest'
import { dayBars, highestUsd, weekStart } from './cost-card.tsx'

it('begins the week six days before today, at midnight in UTC', () => {
  expect(weekStart(Date.parse('2026-01-08T23:59:59.000Z'))).toBe('2026-01-02T00:00:00.000Z')
})

it('scales every bar to the highest', () => {
  const days = [
    { day: '2026-01-01', spent_usd: 5, saved_usd: 10 },
    { day: '2026-01-02', spent_usd: 2.5, saved_usd: 0 },
  ]
  expect(dayBars(days)).toEqual([
    { day: '2026-01-01', name: 'Thu', spentUsd: 5, savedUsd: 10, spentShare: 0.5, savedShare: 1 },
    { day: '2026-01-02', name: 'Fri', spentUsd: 2.5, savedUsd: 0, spentShare: 0.25, savedShare: 0 },
  ])
})

it('returns the value of the highest bar', () => {
  expect(highestUsd(dayBars([{ day: '2026-01-01', spent_usd: 5, saved_usd: 10 }]))).toBe(10)
  expect(highestUsd([])).toBe(0)
})

it('has no bars without cost', () => {
  expect(dayBars([{ day: '2026-01-01', spent_usd: 0, saved_usd: 0 }])[0]).toMatchObject({
    spentShare: 0,
    savedShare: 0,
  })
})
