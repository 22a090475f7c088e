import { type Collection, MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aThing, next, THINGS, type Thing } from '../conformance/store-fixture.ts'
import { type Kind, StoreError, type StoreSchema } from '../store.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { openMongoStore } from './store.ts'
import type { StoredDocument } from './stored-records.ts'

interface Named extends Thing {
  readonly title: string
}
const NAMED: Kind<Named> = { ...THINGS, parse: body => body as Named, facets: ({ title }) => ({ title }) }
const SCHEMA: StoreSchema = {
  kinds: [NAMED],
  upgrades: [{ thing: body => ({ ...body, title: `the ${body.name}` }) }],
}

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

/** A process of an older release that was not stopped, and one of this release. */
async function twoReleases() {
  const at = { uri: server.uri, database: server.database() }
  const older = await openMongoStore(at)
  await older.collection(THINGS).insert(aThing('a'))
  const newer = await openMongoStore({ ...at, schema: SCHEMA })
  return { at, older, newer, close: () => Promise.all([older.close(), newer.close()]) }
}

it('keeps a process of an older release from reading and changing upgraded documents', async () => {
  const { older, newer, close } = await twoReleases()
  const things = older.collection(THINGS)
  await expect(things.get('a')).rejects.toThrow(/thing a was written by a newer LCM.*Use that version/)
  await expect(things.list({ limit: 9 })).rejects.toBeInstanceOf(StoreError)
  expect(await things.replace(next(aThing('a')))).toEqual({ ok: false, reason: 'stale' })
  expect(await things.remove(aThing('a'))).toEqual({ ok: false, reason: 'stale' })
  expect(await newer.collection(NAMED).get('a')).toEqual({ ...aThing('a'), title: 'the a' })
  await close()
})

it('upgrades documents that a process of an older release wrote meanwhile, when they are read', async () => {
  const { at, older, newer, close } = await twoReleases()
  await older.collection(THINGS).insert(aThing('b'))
  const named = newer.collection(NAMED)
  expect(await named.get('b')).toEqual({ ...aThing('b'), title: 'the b' })
  expect(await named.replace({ ...aThing('b'), title: 'another', version: 2 })).toEqual({ ok: true })
  expect(await named.list({ where: { title: 'another' }, limit: 9 })).toHaveLength(1)
  await close()
  const again = await openMongoStore({ ...at, schema: SCHEMA })
  expect((await again.collection(NAMED).list({ limit: 9 })).map(({ title }) => title)).toEqual(['the a', 'another'])
  await again.close()
})

/** Documents as 0.1.0 reads and writes them: it knows no schema number and keeps fields that it doesn't know. */
async function withDocuments010<T>(
  at: { uri: string; database: string },
  work: (documents: Collection<StoredDocument>) => Promise<T>,
): Promise<T> {
  const client = new MongoClient(at.uri)
  try {
    return await work(client.db(at.database).collection<StoredDocument>('thing'))
  } finally {
    await client.close()
  }
}

it('keeps 0.1.0 from reading upgraded documents, and upgrades what it still writes', async () => {
  const at = { uri: server.uri, database: server.database() }
  const body = (version: number) => JSON.stringify({ ...aThing('a'), version })
  await withDocuments010(at, things => things.insertOne({ _id: 'a', version: 1, body: body(1) }))
  const store = await openMongoStore({ ...at, schema: SCHEMA })
  const named = store.collection(NAMED)
  const left = await withDocuments010(at, async things => {
    const found = await things.findOne({ _id: 'a' })
    await things.updateOne({ _id: 'a', version: 1 }, { $set: { version: 2, body: body(2) } })
    return found?.body
  })
  expect(left).toBeUndefined()
  expect(await named.get('a')).toEqual({ ...aThing('a'), version: 2, title: 'the a' })
  expect(await named.replace({ ...aThing('a'), title: 'another', version: 3 })).toEqual({ ok: true })
  expect(await named.get('a')).toMatchObject({ title: 'another', version: 3 })
  await store.close()
})

it('upgrades what 0.1.0 wrote after an interrupted upgrade', async () => {
  const at = { uri: server.uri, database: server.database() }
  const body = JSON.stringify({ ...aThing('a'), version: 2 })
  await withDocuments010(at, things =>
    things.insertOne({ _id: 'a', version: 2, json: JSON.stringify({ ...aThing('a'), title: 'old' }), schema: 1, body }),
  )
  const store = await openMongoStore({ ...at, schema: SCHEMA })
  expect(await store.collection(NAMED).list({ where: { title: 'the a' }, limit: 9 })).toHaveLength(1)
  await store.close()
})

it('upgrades more documents than fit into a page, by several processes at once', async () => {
  const at = { uri: server.uri, database: server.database() }
  const older = await openMongoStore(at)
  const ids = Array.from({ length: 450 }, (_, n) => `t-${String(n).padStart(3, '0')}`)
  for (const id of ids) await older.collection(THINGS).insert(aThing(id))
  await older.close()
  const stores = await Promise.all([1, 2, 3].map(() => openMongoStore({ ...at, schema: SCHEMA })))
  for (const store of stores)
    expect((await store.collection(NAMED).list({ limit: 999 })).map(({ title }) => title)).toEqual(
      ids.map(id => `the ${id}`),
    )
  await Promise.all(stores.map(store => store.close()))
})
