/**
 * The store on MongoDB, for several processes at once. It relies on this and on nothing more of the server:
 *
 * - One update of one document is atomic, and its filter is decided together with it. There are no transactions, change
 *   streams or joins, so a standalone server will do; a replica set is needed only to survive the loss of a machine.
 * - A write that is acknowledged with majority and journaled concern is not lost, and a majority-committed write implies all
 *   writes before it. That holds in one replica set; the collections must not be spread over several shards.
 * - `_id` and indexes with `unique` and `sparse` refuse a second document with the same value (error 11000, which names the
 *   index), and let any number be without one.
 * - `$push` with `$each` makes an array that is absent, `$pull` leaves alone what does not match, `$size: 0` finds what is
 *   empty, and an array that is empty or absent has no element `0`.
 * - Unordered inserts go on after a duplicate. Creating an index that is there already changes nothing.
 * - Text is sorted by its bytes. Patterns know `(?is:…)`; which letters differ by case only is the server's to say.
 */
import type { Db, MongoClient, MongoClientOptions } from 'mongodb'
import { mongoAnnouncements } from './mongo/announcements.ts'
import { mongoCollection } from './mongo/collection.ts'
import { decoded, type Guard, guardWith, secretsIn } from './mongo/errors.ts'
import { mongoJournal } from './mongo/journal.ts'
import { mongoKinds } from './mongo/kinds.ts'
import { mongoSeries } from './mongo/series.ts'
import { settling } from './mongo/settling.ts'
import { type Store, StoreError } from './store.ts'

export interface MongoOptions {
  /** `mongodb://` or `mongodb+srv://`; what it says about timeouts, concerns and whom to read from is not heeded. */
  readonly uri: string
  /** The one named in the address unless said; `lcm` when there is none either. */
  readonly database?: string
  /** How long a server is looked for, connected to or waited for. An answer may take twice as long. */
  readonly timeoutMs?: number
}

const DATABASE = 'lcm'
const TIMEOUT_MS = 5_000

export interface MongoConnection {
  readonly db: Db
  readonly guard: Guard
  close(): Promise<void>
}

/** Resolves when the server answers. Rejects with a `StoreError` that never tells the password. */
export async function openMongoStore(options: MongoOptions): Promise<Store> {
  const connection = await connectMongo(options)
  return mongoStore(connection.db, connection)
}

export async function connectMongo(options: MongoOptions): Promise<MongoConnection> {
  const { uri, database = databaseIn(uri) ?? DATABASE, timeoutMs = TIMEOUT_MS } = options
  const guard = guardWith(secretsIn(uri))
  const client = await newClient(uri, clientOptions(timeoutMs))
  const close = () => client.close()
  try {
    const db = client.db(database)
    await guard(() => db.command({ ping: 1 }))
    return { db, guard, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** On a database whose client waits for majorities and gives up in time. */
export function mongoStore(db: Db, { guard, close }: Pick<MongoConnection, 'guard' | 'close'>): Store {
  const kinds = mongoKinds(db)
  const journal = mongoJournal(db, kinds, guard)
  const announcements = mongoAnnouncements(kinds, guard)
  const settle = settling(kinds, journal, guard)
  return {
    collection(kind) {
      const { documents } = kinds.add(kind)
      return mongoCollection(kind, { guard, documents, wake: announcements.wake })
    },
    journal: {
      append: journal.append,
      query: journal.query,
      async prune(stream, before, limit) {
        // What waits in an outbox may be old as well.
        await settle(limit)
        return journal.prune(stream, before, limit)
      },
    },
    series: mongoSeries(db, guard),
    announcements,
    changes: null,
    settle,
    backup: null,
    close: () => guard(close),
  }
}

/** Loaded when asked for, so that those who use another store do not wait for the driver. */
async function newClient(uri: string, options: MongoClientOptions): Promise<MongoClient> {
  const { MongoClient } = await import('mongodb')
  try {
    return new MongoClient(uri, options)
  } catch {
    // What the driver says may quote the address, and the password with it.
    throw new StoreError(
      'the address of the store is not one of MongoDB. Write it as mongodb://user:password@host:27017/lcm, and what is' +
        ' neither letter nor digit in the password as %XX',
      { isFinal: true },
    )
  }
}

const clientOptions = (timeoutMs: number): MongoClientOptions => ({
  appName: 'lcm',
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: timeoutMs },
  serverSelectionTimeoutMS: timeoutMs,
  connectTimeoutMS: timeoutMs,
  waitQueueTimeoutMS: timeoutMs,
  socketTimeoutMS: timeoutMs,
})

function databaseIn(uri: string): string | undefined {
  const name = /^[^/]*\/\/[^/?]*\/([^?]+)/.exec(uri)?.[1]
  return name === undefined ? undefined : decoded(name)
}
