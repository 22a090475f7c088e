import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aThing, at, entry, next, QUIET, THINGS } from '../conformance/store-fixture.ts'
import type { Store } from '../store.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { openMongoStore } from './store.ts'

const WRITERS = 50

describe('two processes on one database', () => {
  let server: MongoServer
  let stores: readonly [Store, Store]
  beforeAll(async () => {
    server = await startMongo()
  })
  afterAll(() => server.close())

  beforeEach(async () => {
    const options = { uri: server.uri, database: server.database() }
    stores = [await openMongoStore(options), await openMongoStore(options)]
    for (const store of stores) for (const kind of [THINGS, QUIET]) store.collection(kind)
  })
  afterEach(async () => {
    for (const store of stores) await store.close()
  })

  const either = (index: number): Store => stores[index % 2 === 0 ? 0 : 1]
  const settled = async (store: Store) => {
    while ((await store.flushOutbox(7)) > 0);
  }

  it('create their indexes at the same time', async () => {
    const inserted = await Promise.all(
      Array.from({ length: WRITERS }, (_, index) =>
        either(index)
          .collection(THINGS)
          .insert(aThing(`t${index}`, { serial: `s${index % 5}` })),
      ),
    )
    expect(inserted.filter(({ ok }) => ok)).toHaveLength(5)
    expect(await stores[0].collection(THINGS).list({ limit: 99 })).toHaveLength(5)
  })

  it('never both win the same version', async () => {
    await stores[0].collection(THINGS).insert(aThing('a'))
    const increment = async (index: number): Promise<void> => {
      const things = either(index).collection(THINGS)
      for (;;) {
        const now = await things.get('a')
        const more = { note: String(Number(now?.note ?? 0) + 1) }
        if (now && (await things.replace(next(now, more), [entry(String(index))])).ok) return
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, (_, index) => increment(index)))
    expect(await stores[1].collection(THINGS).get('a')).toMatchObject({ version: WRITERS + 1, note: String(WRITERS) })
    await Promise.all(stores.map(settled))
    expect(await stores[0].journal.query({ streams: ['audit'], limit: 999 })).toHaveLength(WRITERS)
  })

  it('return every entry exactly once at every moment, while both flush and both write', async () => {
    const acknowledged: string[] = []
    let isWriting = true
    const write = async (writer: number) => {
      const things = either(writer).collection(THINGS)
      let thing = aThing(`t${writer}`)
      for (let version = 1; version <= 15; version += 1) {
        const written = version === 1 ? things.insert(thing, [entry('1')]) : things.replace(thing, [entry('more')])
        expect(await written).toEqual({ ok: true })
        acknowledged.push(`thing:${thing.id}:${version}:0`)
        thing = next(thing)
      }
    }
    const move = async (store: Store) => {
      while (isWriting) await store.flushOutbox(5)
    }
    const read = async (subject?: string) => {
      while (isWriting) {
        const expected = acknowledged.filter(id => subject === undefined || id.startsWith(`${subject}:`))
        const query = { streams: ['audit'], limit: 999, ...(subject === undefined ? {} : { subject }) }
        const ids = (await stores[0].journal.query(query)).map(({ id }) => id)
        expect(new Set(ids).size, 'an entry was shown twice').toBe(ids.length)
        expect(
          expected.filter(id => !ids.includes(id)),
          'an acknowledged entry was not shown',
        ).toEqual([])
      }
    }
    const others = [...stores.map(move), read(), read('thing:t1')]
    await Promise.all([0, 1, 2, 3].map(write)).finally(() => {
      isWriting = false
    })
    await Promise.all(others)
    await settled(stores[0])
    const kept = await stores[1].journal.query({ streams: ['audit'], limit: 999 })
    expect(kept.map(({ id }) => id).sort()).toEqual(acknowledged.sort())
  })

  it('reuse an id of an unpublished kind again and again without losing an entry', async () => {
    let isBusy = true
    const entries: string[] = []
    const use = async (store: Store, from: number) => {
      const quiet = store.collection(QUIET)
      for (let version = from; version < from + 200; version += 10) {
        // Each document starts at a new version, so that its entries have new ids.
        const thing = aThing('a', { version })
        if (!(await quiet.insert(thing, [entry('in')])).ok) continue
        entries.push(`quiet:a:${version}:0`)
        if ((await quiet.remove(thing, [entry('out')])).ok) entries.push(`quiet:a:${version + 1}:0`)
      }
    }
    const move = async (store: Store) => {
      while (isBusy) await store.flushOutbox(5)
    }
    const movers = stores.map(move)
    await Promise.all([use(stores[0], 1000), use(stores[1], 5000)]).finally(() => {
      isBusy = false
    })
    await Promise.all(movers)
    await settled(stores[0])
    const kept = await stores[0].journal.query({ streams: ['audit'], subject: 'quiet:a', limit: 999 })
    expect(kept.map(({ id }) => id).sort()).toEqual(entries.sort())
    expect(entries.length).toBeGreaterThan(40)
    expect(await stores[1].collection(QUIET).insert(aThing('a'))).toEqual({ ok: true })
  })

  it('insert the same samples at once', async () => {
    const samples = Array.from({ length: 20 }, (_, second) => ({ series: 's', at: at(second), body: { second } }))
    await Promise.all(Array.from({ length: 10 }, (_, index) => either(index).series.append(samples)))
    expect(await stores[0].series.range({ series: 's', limit: 99 })).toEqual(samples.reverse())
  })
})
