import { openSqliteStore } from '@lcm/store/sqlite/store'
import { expect, it } from 'vitest'
import { calendarRush, SEATS_AT_ONCE } from '../../testing/calendar-rush.ts'

it.each([1, 2, 3])('three replicas on SQLite never promise the same capacity (seed %i)', async seed => {
  const store = openSqliteStore(':memory:')
  const rush = await calendarRush(store, { bookings: 120, replicas: 3, seed })
  expect(rush).toMatchObject({ isPartial: false, codes: new Set(['no_capacity_at_that_time']) })
  expect(rush.atOnce).toBeLessThanOrEqual(SEATS_AT_ONCE)
  expect(rush.atOnce).toBeGreaterThan(SEATS_AT_ONCE - 4)
  await store.close()
})
