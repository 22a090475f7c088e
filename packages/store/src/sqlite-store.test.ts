import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { storeConformance } from './conformance.ts'
import { TOMBSTONES_MAX } from './sqlite-changes.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { StoreError } from './store.ts'

const scratch = () => join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')

storeConformance('sqlite', async () => {
  const path = scratch()
  const store = openSqliteStore(path)
  return {
    store,
    reopen: async () => {
      store.close()
      return openSqliteStore(path)
    },
  }
})

describe('a file that is not ours', () => {
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

  it('is refused and left alone when it is not a database', () => {
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
    const things = store.collection({ name: 'thing', parse: body => body as { id: string; version: number } })
    for (let i = 0; i < 500; i++) await things.insert({ id: `t-${i}`, version: 1 })
    store.close()
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 8192, 16_384)
    writeFileSync(path, bytes)
    expect(refusal(path)).toMatch(/damaged|malformed/)
  })
})

it('forgets deletions only after very many, and then says so', async () => {
  const store = openSqliteStore(':memory:')
  const things = store.collection({ name: 'thing', parse: body => body as { id: string; version: number } })
  const start = await store.changes.position()
  for (let i = 0; i <= TOMBSTONES_MAX; i++) {
    const thing = { id: `t-${i}`, version: 1 }
    await things.insert(thing)
    await things.remove(thing)
    if (i === TOMBSTONES_MAX - 1) expect((await store.changes.since(start, 1)).known).toBe(true)
  }
  expect((await store.changes.since(start, 1)).known).toBe(false)
  store.close()
})
