import { afterAll, beforeAll } from 'vitest'
import { storeConformance } from '../conformance.ts'
import type { StoreSchema } from '../store.ts'
import { crashableMongo } from '../testing/crashable-mongo.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { NO_UPGRADES } from '../upgrade-one-document.ts'
import { connectMongo, type MongoConnection, mongoStore } from './store.ts'
import { upgradeMongo } from './upgrade-documents.ts'

let server: MongoServer
beforeAll(async () => {
  server = await startMongo()
})
afterAll(() => server.close())

async function open() {
  const options = { uri: server.uri, database: server.database() }
  let last: MongoConnection | undefined
  const connected = async () => {
    await last?.close()
    last = await connectMongo(options)
    return last
  }
  const reopen = async (schema: StoreSchema = NO_UPGRADES) => {
    const connection = await connected()
    await upgradeMongo(connection.db, connection.guard, schema)
    return mongoStore(connection.db, { ...connection, schema })
  }
  return {
    store: await reopen(),
    reopen,
    async crashUpgrade(schema: StoreSchema, call: number, when: 'before' | 'after') {
      const connection = await connected()
      const { db, arm, calls } = crashableMongo(connection.db)
      arm(call, when)
      try {
        await upgradeMongo(db, connection.guard, schema)
      } catch {
        return false
      }
      return calls() < call
    },
    async crashable() {
      const connection = await connected()
      const { db, ...rest } = crashableMongo(connection.db)
      return { store: mongoStore(db, connection), ...rest }
    },
  }
}

storeConformance('mongo-wire', open, { feed: false })
