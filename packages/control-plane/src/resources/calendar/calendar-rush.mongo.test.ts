import { openMongoStore } from '@lcm/store/mongo/store'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STORE_SCHEMA } from '../../resources.ts'
import { calendarRush, SEATS_AT_ONCE } from '../../testing/calendar-rush.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

it('two replicas on MongoDB never promise the same capacity', async () => {
  const store = await openMongoStore({ uri: server.uri, database: server.database(), schema: STORE_SCHEMA })
  const rush = await calendarRush(store, { bookings: 60, replicas: 2, seed: 1 })
  expect(rush).toMatchObject({ isPartial: false, codes: new Set(['no_capacity_at_that_time']) })
  expect(rush.atOnce).toBeLessThanOrEqual(SEATS_AT_ONCE)
  expect(rush.atOnce).toBeGreaterThan(SEATS_AT_ONCE - 4)
  await store.close()
})
