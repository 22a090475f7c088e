import { openMongoStore } from '@lcm/store/mongo/store'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STORE_SCHEMA } from '../../resources.ts'
import { bookingRush } from '../../testing/booking-rush.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

it('of 200 concurrent bookings with a quota of 10, exactly 10 are accepted on MongoDB', async () => {
  const store = await openMongoStore({ uri: server.uri, database: server.database(), schema: STORE_SCHEMA })
  expect(await bookingRush(store, { bookings: 200, quota: 10 })).toMatchObject({
    accepted: 10,
    refused: 190,
    codes: new Set(['quota_exceeded']),
    sessions: 10,
    usage: { live_sessions: 10 },
  })
  await store.close()
})
