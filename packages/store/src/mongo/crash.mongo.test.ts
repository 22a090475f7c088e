import type { Db } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aThing, entry, next, QUIET, THINGS } from '../conformance/store-fixture.ts'
import type { Store, WriteResult } from '../store.ts'
import { crashableMongo } from '../testing/crashable-mongo.ts'
import { type MongoServer, startMongo } from '../testing/mongo-server.ts'
import { connectMongo, mongoStore } from './store.ts'

const STEPS_MAX = 200
const a = aThing('a', { serial: 's1' })
const q = aThing('q', { serial: 's1' })

/**
 * Inserts and removes documents of both kinds, publishes and flushes in between. Returns what was acknowledged before
 * the crash.
 */
async function live(store: Store): Promise<{ entries: string[]; documents: Map<string, number>; died: boolean }> {
  const entries: string[] = []
  const documents = new Map<string, number>()
  const acknowledge = async (id: string, version: number | null, written: Promise<WriteResult>, ids: string[] = []) => {
    expect(await written).toEqual({ ok: true })
    entries.push(...ids)
    if (version === null) documents.delete(id)
    else documents.set(id, version)
  }
  const [things, quiet] = [store.collection(THINGS), store.collection(QUIET)]
  const tellAll = async () => store.announcements.done(await store.announcements.pending(9))
  try {
    await acknowledge('a', 1, things.insert(a, [entry('1'), entry('1')]), ['thing:a:1:0', 'thing:a:1:1'])
    await acknowledge('q', 1, quiet.insert(q, [entry('1')]), ['quiet:q:1:0'])
    await acknowledge('q', null, quiet.remove(q))
    await acknowledge('q', 1, quiet.insert(q))
    await store.flushOutbox(9)
    await acknowledge('a', 2, things.replace(next(a, { serial: null }), [entry('2')]), ['thing:a:2:0'])
    await tellAll()
    await acknowledge('a', null, things.remove(next(a), [entry('3')]), ['thing:a:3:0'])
    await tellAll()
    await acknowledge('q', null, quiet.remove(q, [entry('2')]), ['quiet:q:2:0'])
    await store.flushOutbox(9)
    await acknowledge('z', 1, things.insert(aThing('z')))
    await acknowledge('z', null, things.remove(aThing('z'), [entry('2')]), ['thing:z:2:0'])
    await store.flushOutbox(9)
    await tellAll()
    return { entries, documents, died: false }
  } catch {
    return { entries, documents, died: true }
  }
}

async function everythingIn(db: Db, kind: string) {
  return db.collection<{ _id: string; version: number }>(kind).find().toArray()
}

describe('a crash at any step', () => {
  let server: MongoServer
  beforeAll(async () => {
    server = await startMongo()
  })
  afterAll(() => server.close())

  /** Returns whether there was a step to crash at. */
  async function lifeAndAfter(step: number, when: 'before' | 'after'): Promise<boolean> {
    const connection = await connectMongo({ uri: server.uri, database: server.database() })
    const { db, arm, calls } = crashableMongo(connection.db)
    arm(step, when)
    const { entries, documents, died } = await live(mongoStore(db, connection))
    expect(died).toBe(calls() >= step)

    const store = mongoStore(connection.db, connection)
    for (const kind of [THINGS, QUIET]) store.collection(kind)
    const shown = (await store.journal.query({ streams: ['audit'], limit: 99 })).map(({ id }) => id)
    expect(shown).toEqual(expect.arrayContaining(entries))
    while ((await store.flushOutbox(2)) > 0);
    await store.announcements.done(await store.announcements.pending(9))
    while ((await store.flushOutbox(2)) > 0);
    expect(await store.announcements.pending(9)).toEqual([])
    const kept = (await everythingIn(connection.db, 'journal')).map(({ _id }) => _id)
    expect(kept.sort()).toEqual(shown.sort())
    for (const kind of ['thing', 'quiet']) {
      for (const document of await everythingIn(connection.db, kind)) {
        for (const leftover of ['deleted', 'announce', 'outbox']) expect(document).not.toHaveProperty(leftover)
      }
    }
    if (!died) {
      expect(kept).toEqual([...entries].sort())
      expect(documents.size).toBe(0)
      for (const kind of ['thing', 'quiet']) expect(await everythingIn(connection.db, kind)).toEqual([])
    }
    await connection.close()
    return died
  }

  it.each(['before', 'after'] as const)('loses nothing and leaves nothing behind, %s the step', async when => {
    let step = 1
    while (await lifeAndAfter(step, when)) {
      step += 1
      expect(step).toBeLessThan(STEPS_MAX)
    }
    expect(step).toBeGreaterThan(30)
  })
})
