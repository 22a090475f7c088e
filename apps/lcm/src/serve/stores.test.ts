import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { outages } from '@lcm/controllers/kit/dependency-outages'
import { silentLogger } from '@lcm/runtime'
import { openSqliteStore, sqliteStore } from '@lcm/store/sqlite/store'
import { StoreError } from '@lcm/store/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import { watchedStore } from './stores.ts'

/** A store with its schema, opened so that the test can take the disk away from it. */
async function openFile() {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-watched-')), 'lcm.sqlite')
  await openSqliteStore(path).close()
  return new DatabaseSync(path)
}

const LARGE = 'x'.repeat(200_000)

it('reports a problem of the store when the disk is full for 30 s, until a write succeeds', async () => {
  const clock = manualClock()
  const silent = outages({ clock, logger: silentLogger })
  const db = await openFile()
  const store = watchedStore(sqliteStore(db, { gather: queueMicrotask }), silent)
  const parse = (body: unknown) => body as { id: string; version: number; text: string }
  const things = store.collection({ name: 'thing', parse, announced: false })
  const write = () => things.insert({ id: 'a', version: 1, text: LARGE })
  db.exec('PRAGMA max_page_count = 1')
  for (let beat = 0; beat < 6; beat += 1) {
    expect(silent.problems()).toEqual([])
    await expect(write()).rejects.toBeInstanceOf(StoreError)
    expect(await things.get('a'), 'reads are answered').toBeNull()
    await clock.advance(5_000)
  }
  expect(silent.problems()).toMatchObject([
    {
      code: 'dependency_outage',
      params: { dependency: 'the store (writes)', error: expect.stringContaining('disk is full') },
    },
  ])
  db.exec('PRAGMA max_page_count = 1000000')
  expect(await write()).toEqual({ ok: true })
  expect(silent.problems()).toEqual([])
  await store.close()
})

it('reports a problem of the store when the database is unreadable for 30 s', async () => {
  const clock = manualClock()
  const silent = outages({ clock, logger: silentLogger })
  const db = await openFile()
  const store = watchedStore(sqliteStore(db, { gather: queueMicrotask }), silent)
  const parse = (body: unknown) => body as { id: string; version: number }
  const things = store.collection({ name: 'thing', parse, announced: false })
  expect(await things.get('a')).toBeNull()
  db.close()
  await expect(things.get('a')).rejects.toThrow()
  await clock.advance(30_000)
  await expect(things.list({ limit: 1 })).rejects.toThrow()
  expect(silent.problems()).toMatchObject([{ code: 'dependency_outage', params: { dependency: 'the store (reads)' } }])
})
