import { openSqliteStore } from '@lcm/store/sqlite/store'
import { expect, it } from 'vitest'
import { bookingRush } from '../../testing/booking-rush.ts'

it('of 200 concurrent bookings with a quota of 10, exactly 10 are accepted on SQLite', async () => {
  const store = openSqliteStore(':memory:')
  expect(await bookingRush(store, { bookings: 200, quota: 10 })).toMatchObject({
    accepted: 10,
    refused: 190,
    codes: new Set(['quota_exceeded']),
    sessions: 10,
    usage: { live_sessions: 10 },
  })
  await store.close()
})
