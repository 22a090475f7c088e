import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aThing, at, entry, next, QUIET, THINGS } from '../conformance/store-fixture.ts'
import { type Store, StoreError } from '../store.ts'
import { crashableMongo } from '../testing/crashable-mongo.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { connectMongo, type MongoConnection, mongoStore } from './store.ts'

const CALLS_MAX = 50

describe('another process in between', () => {
  let server: MongoServer
  let connection: MongoConnection
  let other: Store
  beforeAll(async () => {
    server = await startMongo()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    connection = await connectMongo({ uri: server.uri, database: server.database() })
    other = mongoStore(connection.db, connection)
    for (const kind of [THINGS, QUIET]) await other.collection(kind).get('warm-up')
  })
  afterEach(() => connection.close())

  async function mine() {
    const { db, ...rest } = crashableMongo(connection.db)
    const store = mongoStore(db, connection)
    for (const kind of [THINGS, QUIET]) await store.collection(kind).get('warm-up')
    await store.series.newest(['warm-up'])
    return { store, ...rest }
  }

  /** An unpublished document `a` that is removed, with pending outbox entries. */
  async function buried() {
    for (const thing of await other.collection(QUIET).list({ limit: 9 })) await other.collection(QUIET).remove(thing)
    await other.flushOutbox(9)
    await other.collection(QUIET).insert(aThing('a', { version: 8 }))
    await other.collection(QUIET).remove(aThing('a', { version: 8 }), [entry('gone')])
  }

  it('never makes a flush delete a document that replaced a tombstone', async () => {
    const again = aThing('a', { name: 'again' })
    for (let call = 1; ; call += 1) {
      await buried()
      const { store, meanwhile, calls } = await mine()
      meanwhile(call, () => other.collection(QUIET).insert(again))
      await store.flushOutbox(9)
      if (calls() < call) break
      expect(await other.collection(QUIET).get('a'), `inserted before call ${call}`).toEqual(again)
      expect(call).toBeLessThan(CALLS_MAX)
    }
  })

  it('never makes an insertion fail because of a tombstone that is deleted meanwhile', async () => {
    for (let call = 1; ; call += 1) {
      await buried()
      const { store, meanwhile, calls } = await mine()
      meanwhile(call, () => other.flushOutbox(9))
      expect(await store.collection(QUIET).insert(aThing('a')), `settled before call ${call}`).toEqual({ ok: true })
      if (calls() < call) break
      expect(call).toBeLessThan(CALLS_MAX)
    }
  })

  it('never makes a later entry leave the outbox before it is in the journal', async () => {
    const things = other.collection(THINGS)
    for (let call = 1; ; call += 1) {
      let thing = aThing(`t${call}`)
      await things.insert(thing, [entry('first')])
      const { store, meanwhile, calls } = await mine()
      meanwhile(call, async () => {
        await other.flushOutbox(99)
        thing = next(thing)
        await things.replace(thing, [entry('second')])
      })
      await store.flushOutbox(99)
      if (calls() < call) break
      const kept = await other.journal.query({ streams: ['audit'], subject: `thing:${thing.id}`, limit: 9 })
      expect(kept.map(({ id }) => id)).toEqual([`thing:${thing.id}:2:0`, `thing:${thing.id}:1:0`])
      expect(call).toBeLessThan(CALLS_MAX)
    }
  })

  it('keeps a tombstone until it is published, however often outboxes are flushed', async () => {
    await other.collection(THINGS).insert(aThing('a'))
    await other.collection(THINGS).remove(aThing('a'), [entry('gone')])
    while ((await other.flushOutbox(9)) > 0);
    const change = { kind: 'thing', id: 'a', version: 2, deleted: true }
    expect(await other.announcements.pending(9)).toEqual([change])
    expect(await other.collection(THINGS).insert(aThing('a'))).toMatchObject({ reason: 'taken', field: 'id' })
    await other.announcements.done([change])
    expect(await connection.db.collection('thing').countDocuments()).toBe(0)
  })

  it('inserts a sample that another process inserts first', async () => {
    const duplicate = async () => {
      throw Object.assign(new Error('E11000 duplicate key error'), { code: 11_000 })
    }
    const sample = { series: 's', at: at(1), body: { value: 1 } }
    const { store, meanwhile } = await mine()
    meanwhile(1, duplicate)
    await store.series.append([sample])
    expect(await store.series.range({ series: 's', limit: 9 })).toEqual([sample])
  })

  it('retries a failed index creation', async () => {
    const { db, meanwhile } = crashableMongo(connection.db)
    const quiet = mongoStore(db, connection).collection({ ...QUIET, name: 'later' })
    meanwhile(1, () => Promise.reject(new Error('no space left')))
    await expect(quiet.insert(aThing('a', { serial: 's' }))).rejects.toThrow(StoreError)
    await quiet.insert(aThing('a', { serial: 's' }))
    expect(await quiet.insert(aThing('b', { serial: 's' }))).toMatchObject({ reason: 'taken', field: 'serial' })
  })
})
