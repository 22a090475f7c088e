import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aThing, entry, next, THINGS } from '../conformance/bench.ts'
import { openMongoStore } from '../mongo-store.ts'
import { type Store, StoreError } from '../store.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'

const TIMEOUT_MS = 1_000
/** A read may be tried twice, each time with looking for a server and waiting for its answer. */
const PATIENCE_MS = 2 * (1 + 2) * TIMEOUT_MS + 2_000

describe('a server that is away', () => {
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
    store.announcements.pending(1),
    store.settle(1),
  ]
  async function expectFailures(store: Store): Promise<void> {
    const since = systemClock.monotonic()
    for (const outcome of await Promise.allSettled(failures(store))) {
      expect(outcome.status).toBe('rejected')
      if (outcome.status !== 'rejected') continue
      expect(outcome.reason).toBeInstanceOf(StoreError)
      expect(String(outcome.reason.message)).toMatch(/^MongoDB can't be reached: .*LCM_STORE/)
    }
    expect(systemClock.monotonic() - since).toBeLessThan(PATIENCE_MS)
  }

  it('is told in time, and the store is of use again when it is back', async ({ skip }) => {
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

/** What was refused while the server was away may be refused a little longer. */
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
