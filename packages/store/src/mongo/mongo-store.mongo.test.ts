import { afterAll, beforeAll } from 'vitest'
import { storeConformance } from '../conformance.ts'
import { connectMongo, type MongoConnection, mongoStore } from '../mongo-store.ts'
import { dyingMongo } from '../testing/dying-mongo.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'

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
    async dying() {
      const connection = await connected()
      const { db, ...rest } = dyingMongo(connection.db)
      return { store: mongoStore(db, connection), ...rest }
    },
  }
}

storeConformance('mongo-wire', open, { feed: false })
