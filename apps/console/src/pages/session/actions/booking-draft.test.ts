import { toInstant } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { bookingBody, bookingFault, localMinute } from './booking-draft.ts'

const NOW_MS = Date.parse('2026-01-02T03:00:00.000Z')
const draft = { definitionId: 'ld-1', start: null, minutes: 60 }

it('reports missing fields', () => {
  expect(bookingFault(draft, 60, NOW_MS)).toBe(null)
  expect(bookingFault({ ...draft, definitionId: '' }, 60, NOW_MS)).toBe('Choose a definition')
  expect([0, 61, null].map(minutes => bookingFault({ ...draft, minutes }, 60, NOW_MS))).toEqual(
    Array(3).fill('Enter 1 to 60 minutes'),
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
})
