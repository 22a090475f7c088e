import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aThing, entry, next, THINGS } from '../conformance/store-fixture.ts'
import { type Store, StoreError } from '../store.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { openMongoStore } from './store.ts'

const TIMEOUT_MS = 1_000
/** A read may be tried twice, each time with finding a server and waiting for its response. */
const TIMEOUT_MAX_MS = 2 * (1 + 2) * TIMEOUT_MS + 2_000

describe('a server outage', () => {
  let server: MongoServer
  beforeAll(async () => {
    server = await startMongo()
  })
  afterAll(() => server.close())

  const failures = (store: Store): readonly Promise<unknown>[] => [
    store.collection(THINGS).get('a'),
    store.collection(THINGS).list({ limit: 1 }),
    store.collection(THINGS).replace(next(aThing('a')), [entry('2')]),
    store.journal.query({ streams: ['audit'], limit: 1 }),
    store.series.newest(['a']),
    store.blobs.read('a'),
    store.announcements.pending(1),
    store.flushOutbox(1),
  ]
  async function expectFailures(store: Store): Promise<void> {
    const since = systemClock.monotonic()
    for (const outcome of await Promise.allSettled(failures(store))) {
      expect(outcome.status).toBe('rejected')
      if (outcome.status !== 'rejected') continue
      expect(outcome.reason).toBeInstanceOf(StoreError)
      expect(String(outcome.reason.message)).toMatch(/^MongoDB can't be reached: .*LCM_STORE/)
    }
    expect(systemClock.monotonic() - since).toBeLessThan(TIMEOUT_MAX_MS)
  }

  it('is reported in time, and the store recovers when the server is back', async ({ skip }) => {
    if (server.process === null) return skip('not our server to stop')
    const store = await openMongoStore({ uri: server.uri, database: server.database(), timeoutMs: TIMEOUT_MS })
    const things = store.collection(THINGS)
    await things.insert(aThing('a'), [entry('1')])
    server.process.freeze()
    await expectFailures(store).finally(server.process.thaw)
    const back = await eventually(() => things.get('a'))
    expect([1, 2]).toContain(back?.version)
    await server.process.kill()
    await expectFailures(store)
    await store.close()
  })
})

/** Requests may still fail for a moment after the server is back. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  const deadline = systemClock.monotonic() + 10_000
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (systemClock.monotonic() > deadline) throw error
    }
  }
}
