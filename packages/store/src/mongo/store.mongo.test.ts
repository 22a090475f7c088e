import { afterAll, beforeAll } from 'vitest'
import { storeConformance } from '../conformance.ts'
import { crashableMongo } from '../testing/crashable-mongo.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { connectMongo, type MongoConnection, mongoStore } from './store.ts'

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
  const reopen = async () => {
    const connection = await connected()
    return mongoStore(connection.db, connection)
  }
  return {
    store: await reopen(),
    reopen,
    async crashable() {
      const connection = await connected()
      const { db, ...rest } = crashableMongo(connection.db)
      return { store: mongoStore(db, connection), ...rest }
    },
  }
}

storeConformance('mongo-wire', open, { feed: false })
