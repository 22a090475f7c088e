import { expect, it } from 'vitest'
import type { Shortage } from '../forecast/shortages.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import { lateText, shortageText } from './forecast-text.ts'

const shortage = (because: Reason, workers_needed: number | null = null): Shortage => ({
  fromMs: 0,
  untilMs: 1,
  session_ids: ['ls-1', 'ls-2'],
  because,
  workers_needed,
})
const limits = { max_workers_per_region: 10 }
const limit = reason('region_worker_limit', { region: 'us-east-1', limit: 10 })

it.each([
  [shortage(limit, 34), '34 workers are needed, and max_workers_per_region is 10. Raise it to 34.'],
  [shortage(limit), 'max_workers_per_region is 10. Raise it.'],
  [
    shortage(reason('scale_up_disabled'), 3),
    '3 workers are needed, and scale_up_enabled is false. Set it to true, or create workers.',
  ],
  [
    shortage(reason('plan_budget_reached')),
    'The budget does not cover their machines. Raise budget_usd_per_day or budget_usd_per_month.',
  ],
  [
    shortage(reason('plan_no_license_free', { license: 'CML_Enterprise' })),
    expect.stringMatching(/^Reason: .*CML_Enterprise.*\. Add licenses to the pool\.$/),
  ],
  [
    shortage(reason('plan_no_capacity')),
    'No machine can be ready before they end. Start a worker now, or book a later time.',
  ],
  [shortage(textReason('too large')), 'Reason: too large. Enable or create a template that holds them.'],
])('says what to do about a shortage', (given, fix) => {
  const text = shortageText(given, limits)
  expect(text.slice(0, 22)).toBe('2 sessions would wait.')
  expect(text.slice(23)).toEqual(fix)
})

it('says which sessions would be late', () => {
  const none = { late: [], after_boot: 0 }
  expect(lateText(none)).toBe('none')
  expect(lateText({ ...none, after_boot: 24 })).toBe('none; 24 sessions if a boot is slower than 999 of 1,000')
  expect(lateText({ ...none, late: [{ session_id: 'ls-1', by_ms: 780_000 }] })).toBe(
    '1 session by up to 13m 00s, because no machine can boot in time',
  )
})
