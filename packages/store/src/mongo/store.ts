/**
 * The store on MongoDB, for several processes at once. It relies on these properties of the server and no others:
 *
 * - One update of one document is atomic, and its filter is evaluated together with it. No transactions, change streams
 * or joins are used, so a standalone server will do; a replica set is needed only to survive the loss of a machine.
 * - A write acknowledged with majority and journaled concern is not lost, and a majority-committed write implies all
 * writes before it. That holds in one replica set; the collections must not be spread over several shards.
 * - `_id` and indexes with `unique` and `sparse` refuse a second document with the same value (error 11000, which names
 * the index), and allow any number of documents without one.
 * - `$push` with `$each` creates an absent array, `$pull` leaves non-matching elements alone, `$size: 0` finds empty
 * arrays, and an array that is empty or absent has no element `0`.
 * - `$not` with a comparison matches documents without the field.
 * - Unordered inserts continue after a duplicate. Creating an index that exists changes nothing.
 * - `$group` with `$sum` adds up the documents of a collection.
 * - Text is sorted by its bytes. Patterns support `(?is:…)`; case folding is up to the server.
 */
import type { Db, MongoClient, MongoClientOptions } from 'mongodb'
import { type Store, StoreError, type StoreSchema } from '../store.ts'
import { NO_UPGRADES } from '../upgrade-one-document.ts'
import { mongoBlobs } from './blobs.ts'
import { mongoCollection } from './collection.ts'
import { decodeOrKeep, type Guard, guardWith, secretsIn } from './error-guard.ts'
import { outboxFlush } from './flush-outbox.ts'
import { mongoJournal } from './journal.ts'
import { kindRegistry } from './kind-registry.ts'
import { mongoSeries } from './series.ts'
import { mongoAnnouncements } from './unpublished-changes.ts'
import { upgradeMongo } from './upgrade-documents.ts'

export interface MongoOptions {
  /** `mongodb://` or `mongodb+srv://`. Timeouts, concerns and read preference in the address are ignored. */
  readonly uri: string
  /** Defaults to the database in the address, then to `lcm`. */
  readonly database?: string
  readonly schema?: StoreSchema
  /** Timeout for finding a server, connecting to it and waiting for its response. One call may take twice as long. */
  readonly timeoutMs?: number
}

const DATABASE = 'lcm'
const TIMEOUT_MS = 5_000

export interface MongoConnection {
  readonly db: Db
  readonly guard: Guard
  close(): Promise<void>
}

/**
 * Resolves when the documents of an earlier release are upgraded. Rejects with a `StoreError` that never contains the password.
 */
export async function openMongoStore({ schema = NO_UPGRADES, ...options }: MongoOptions): Promise<Store> {
  const connection = await connectMongo(options)
  try {
    await upgradeMongo(connection.db, connection.guard, schema)
  } catch (error) {
    await connection.close()
    throw error
  }
  return mongoStore(connection.db, { ...connection, schema })
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

/** `db` belongs to a client with majority concerns and timeouts. Its documents must have been upgraded. */
export function mongoStore(
  db: Db,
  { guard, close, schema = NO_UPGRADES }: Pick<MongoConnection, 'guard' | 'close'> & { schema?: StoreSchema },
): Store {
  const kinds = kindRegistry(db)
  const journal = mongoJournal(db, kinds, guard)
  const announcements = mongoAnnouncements(kinds, guard)
  const flushOutbox = outboxFlush(kinds, journal, guard)
  return {
    collection(kind) {
      const { documents } = kinds.add(kind)
      return mongoCollection(kind, { guard, schema, documents, wake: announcements.wake })
    },
    journal: {
      append: journal.append,
      query: journal.query,
      async prune(stream, before, limit) {
        // Entries still in an outbox may be old too.
        await flushOutbox(limit)
        return journal.prune(stream, before, limit)
      },
    },
    series: mongoSeries(db, guard),
    blobs: mongoBlobs(db, guard),
    announcements,
    changes: null,
    flushOutbox,
    backup: null,
    close: () => guard(close),
  }
}

/** Loads the driver on demand, so that other stores don't wait for it. */
async function newClient(uri: string, options: MongoClientOptions): Promise<MongoClient> {
  const { MongoClient } = await import('mongodb')
  try {
    return new MongoClient(uri, options)
  } catch {
    // The driver's message may quote the address, and the password with it.
    throw new StoreError(
      'the store address is not a MongoDB address. Write it as mongodb://user:password@host:27017/lcm, with every ' +
        'character of the password that is neither letter nor digit as %XX',
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
  return name === undefined ? undefined : decodeOrKeep(name)
}
