import { openMongoStore } from '@lcm/store/mongo/store'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Document, Store } from '@lcm/store/store'
import { mongoFromSqlite } from '@lcm/store/testing/mongo-from-sqlite'
import { type MongoServer, startMongo } from '@lcm/store/testing/mongo-server'
import { oldStore } from '@lcm/testkit/old-stores/old-store'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CollectionName, RESOURCES, STORE_SCHEMA } from './resources.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

const NAMES = Object.keys(RESOURCES) as CollectionName[]
const all = (store: Store, name: CollectionName, where = {}) =>
  store.collection<Document>(RESOURCES[name] as never).list({ where, limit: 10_000 })

it('MongoDB and SQLite upgrade a store of 0.1.0 to the same documents', async () => {
  const { file } = oldStore()
  const at = { uri: server.uri, database: server.database() }
  await mongoFromSqlite(file, at)
  const mongo = await openMongoStore({ ...at, schema: STORE_SCHEMA })
  const sqlite = openSqliteStore(file, { schema: STORE_SCHEMA })
  for (const name of NAMES) {
    const documents = await all(sqlite, name)
    expect(documents.length, name).toBeGreaterThan(0)
    expect(await all(mongo, name), name).toEqual(documents)
  }
  for (const status of ['RUNNING', 'STOPPED', 'TERMINATED'])
    expect(await all(mongo, 'workers', { status }), status).toEqual(await all(sqlite, 'workers', { status }))
  await Promise.all([mongo.close(), sqlite.close()])
})
