import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { bookingBody, bookingFault, localMinute, quotaText, seatsBody } from './booking-draft.ts'

const NOW_MS = Date.parse('2026-01-02T03:00:00.000Z')
const draft = { definitionId: 'ld-1', start: null, minutes: 60, seats: 1, isBestEffort: false }

it('reports missing fields', () => {
  expect(bookingFault(draft, 60, NOW_MS)).toBe(null)
  expect(bookingFault({ ...draft, definitionId: '' }, 60, NOW_MS)).toBe('Choose a definition')
  expect([0, 61, null].map(minutes => bookingFault({ ...draft, minutes }, 60, NOW_MS))).toEqual(
    Array(3).fill('Enter 1 to 60 minutes'),
  )
  expect([0, 201, null].map(seats => bookingFault({ ...draft, seats }, 60, NOW_MS))).toEqual(
    Array(3).fill('Enter 1 to 200 seats'),
  )
  expect(bookingFault({ ...draft, start: '' }, 60, NOW_MS)).toBe('Enter a start time')
  expect(bookingFault({ ...draft, start: localMinute(NOW_MS - 3_600_000) }, 60, NOW_MS)).toBe(
    'The start time is in the past',
  )
  expect(bookingFault({ ...draft, start: localMinute(NOW_MS) }, 60, NOW_MS)).toBe(null)
})

it('sends local time as an instant, and nothing for now', () => {
  expect(bookingBody(draft)).toEqual({ definition: 'ld-1', duration_minutes: 60 })
  expect(bookingBody({ ...draft, start: localMinute(NOW_MS) })).toMatchObject({ start: toInstant(NOW_MS) })
  expect(seatsBody({ ...draft, isBestEffort: true }, 20)).toEqual({
    definition: 'ld-1',
    duration_minutes: 60,
    seats: 20,
    best_effort: true,
  })
  expect(bookingBody({ ...draft, saveId: 'sv-1' })).toEqual({ resume_save: 'sv-1', duration_minutes: 60 })
})

it('shows how much of the quota is used, unless there is no limit', () => {
  const used = { live_sessions: 1, future_sessions: 3, core_hours_this_week: 4 }
  const limits = { live_sessions: 2, future_sessions: 10, horizon_days: 60, core_hours_per_week: 1000 }
  expect(quotaText({ limits, used }, false)).toBe('1 of 2 sessions open')
  expect(quotaText({ limits, used }, true)).toBe('3 of 10 future sessions booked')
  expect(quotaText({ limits: { ...limits, live_sessions: 'unlimited' }, used }, false)).toBeNull()
})
