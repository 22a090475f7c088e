import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { type Document, StoreError } from '../store.ts'
import { sqliteConformance } from '../testing/sqlite-conformance.ts'
import { TOMBSTONES_MAX } from './change-feed.ts'
import { migrate, openSqliteFile } from './database-file.ts'
import { openSqliteStore, sqliteStore } from './store.ts'

const scratch = () => join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')

sqliteConformance('sqlite', queueMicrotask)

describe('a foreign file', () => {
  const refusal = (path: string): string => {
    const before = readFileSync(path)
    try {
      openSqliteStore(path).close()
      return 'opened'
    } catch (error) {
      expect(error).toBeInstanceOf(StoreError)
      expect(readFileSync(path).equals(before), 'the file was changed').toBe(true)
      return error instanceof Error ? error.message : ''
    }
  }

  it('is refused and left unchanged when it is not a database', () => {
    const path = scratch()
    writeFileSync(path, 'my shopping list, do not touch')
    expect(refusal(path)).toMatch(/not an LCM store, or is damaged.*--data/)
  })

  it('is refused when it belongs to another program', () => {
    const path = scratch()
    const db = new DatabaseSync(path)
    db.exec('CREATE TABLE music (title TEXT)')
    db.close()
    expect(refusal(path)).toMatch(/belongs to another program/)
  })

  it('is refused when its pages are torn', async () => {
    const path = scratch()
    const store = openSqliteStore(path)
    const things = store.collection({
      name: 'thing',
      parse: body => body as { id: string; version: number },
      announced: true,
    })
    for (let i = 0; i < 500; i++) await things.insert({ id: `t-${i}`, version: 1 })
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 8192, 16_384)
    writeFileSync(path, bytes)
    expect(refusal(path)).toMatch(/damaged|malformed/)
  })
})

it('forgets deletions only after very many, and then reports the position as unknown', async () => {
  const store = openSqliteStore(':memory:')
  const things = store.collection({
    name: 'thing',
    parse: body => body as { id: string; version: number },
    announced: true,
  })
  const { changes } = store
  if (changes === null) throw new Error('the store has a feed')
  const start = await changes.position()
  for (let i = 0; i <= TOMBSTONES_MAX; i++) {
    const thing = { id: `t-${i}`, version: 1 }
    await things.insert(thing)
    await things.remove(thing)
    if (i === TOMBSTONES_MAX - 1) expect((await changes.since(start, 1)).known).toBe(true)
  }
  expect((await changes.since(start, 1)).known).toBe(false)
  await store.close()
})

describe('a full disk', () => {
  const LARGE = 'x'.repeat(200_000)
  const open = () => {
    const db = openSqliteFile(scratch())
    const store = sqliteStore(db, { gather: setImmediate })
    const parse = (body: unknown) => body as { id: string; version: number; text: string }
    const things = store.collection({
      name: 'thing',
      parse,
      announced: true,
      unique: { text: ({ text }) => text.slice(0, 10) },
    })
    const limit = (pages: number) => db.exec(`PRAGMA max_page_count = ${pages}`)
    return { db, store, things, limit }
  }

  it('is reported as a failure of the store, which recovers when there is space', async () => {
    const { store, things, limit } = open()
    limit(1)
    const refused = await things.insert({ id: 'a', version: 1, text: LARGE }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(StoreError)
    expect(refused).toMatchObject({ advice: "the store's disk is full; free some space, then try again" })
    limit(1_000_000)
    expect(await things.insert({ id: 'a', version: 1, text: LARGE })).toEqual({ ok: true })
    await store.close()
  })

  it('is reported as a failure of the store also during an upgrade, and nothing is changed', async () => {
    const { db, store, things, limit } = open()
    await things.insert({ id: 'a', version: 1, text: 'small' })
    limit(1)
    const kinds = [{ name: 'thing', parse: (body: unknown) => body as Document, announced: true }]
    const schema = { kinds, upgrades: [{ thing: (body: object) => ({ ...body, text: LARGE }) }] }
    expect(() => migrate(db, schema)).toThrow(/full/)
    expect((await things.get('a'))?.text).toBe('small')
    limit(1_000_000)
    migrate(db, schema)
    await store.close()
  })

  it('hides refusals that follow from a write that was rolled back', async () => {
    const { store, things, limit } = open()
    limit(1)
    const together = [
      things.insert({ id: 'a', version: 1, text: 'same text' }),
      things.insert({ id: 'b', version: 1, text: 'same text' }),
      things.insert({ id: 'c', version: 1, text: LARGE }),
    ]
    const results = await Promise.allSettled(together)
    expect(results.map(each => each.status === 'rejected' && each.reason instanceof StoreError)).toEqual([
      true,
      true,
      true,
    ])
    expect(await things.list({ limit: 10 })).toEqual([])
    await store.close()
  })
})
