import { assert } from '@lcm/domain/assert'
import { openMongoStore } from '@lcm/store/mongo/store'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Document, Store } from '@lcm/store/store'
import { mongoFromSqlite } from '@lcm/store/testing/mongo-from-sqlite'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { NEW_KINDS, oldStore } from '@lcm/testkit/old-stores/old-store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CollectionName, RESOURCES, STORE_SCHEMA } from './resources.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

/** People have no document until the API starts. */
const NAMES = (Object.keys(RESOURCES) as CollectionName[]).filter(name => name !== 'people')
const all = (store: Store, name: CollectionName, where = {}) =>
  store.collection<Document>(RESOURCES[name] as never).list({ where, limit: 10_000 })

it('MongoDB and SQLite upgrade a store of 0.1.0 to the same documents and indexes', async () => {
  const { file } = oldStore()
  const at = { uri: server.uri, database: server.database() }
  await mongoFromSqlite(file, at)
  const mongo = await openMongoStore({ ...at, schema: STORE_SCHEMA })
  const sqlite = openSqliteStore(file, { schema: STORE_SCHEMA })
  for (const name of NAMES) {
    const documents = await all(sqlite, name)
    if (!NEW_KINDS.has(RESOURCES[name].name)) expect(documents.length, name).toBeGreaterThan(0)
    expect(await all(mongo, name), name).toEqual(documents)
  }
  for (const status of ['RUNNING', 'STOPPED', 'TERMINATED'])
    expect(await all(mongo, 'workers', { status }), status).toEqual(await all(sqlite, 'workers', { status }))
  for (const store of [mongo, sqlite]) {
    const sessions = store.collection(RESOURCES.sessions)
    const [reserved] = (await sessions.list({ limit: 10_000 })).filter(({ reservation_id }) => reservation_id !== null)
    assert(reserved, 'the store has a session with a reservation_id')
    const again = { ...reserved, id: 'ls-again', version: 1 }
    expect(await sessions.insert(again)).toEqual({ ok: false, reason: 'taken', field: 'reservation_id' })
    expect(await sessions.insert({ ...again, owner: 'another' })).toEqual({ ok: true })
  }
  await Promise.all([mongo.close(), sqlite.close()])
})
