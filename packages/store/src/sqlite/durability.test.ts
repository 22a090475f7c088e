import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aThing, THINGS } from '../conformance/store-fixture.ts'
import { openSqliteFile } from './database-file.ts'
import { openSqliteStore, sqliteStore } from './store.ts'

it('waits for the disk only for a commit with a write that must be durable at once', async () => {
  const database = openSqliteFile(':memory:')
  const levels: string[] = []
  const exec = (text: string): void => {
    const level = /synchronous = (\w+); BEGIN/.exec(text)?.[1]
    if (level !== undefined) levels.push(level)
    database.exec(text)
  }
  const prepare = (text: string) => database.prepare(text)
  const watched = new Proxy(database, {
    get: (target, name) => (name === 'exec' ? exec : name === 'prepare' ? prepare : Reflect.get(target, name, target)),
  })
  const things = sqliteStore(watched).collection(THINGS)
  const insert = (id: string, durability?: 'with_next') => things.insert(aThing(id), [], durability)
  await Promise.all([insert('a', 'with_next'), insert('b', 'with_next')])
  await Promise.all([insert('c', 'with_next'), insert('d')])
  await insert('e')
  expect(levels).toEqual(['NORMAL', 'FULL', 'FULL'])
})

it('gives the position of a change that the loss of power undid to no other change', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-durability-'))
  const file = join(folder, 'lcm.sqlite')
  const store = openSqliteStore(file)
  const things = store.collection(THINGS)
  await things.insert(aThing('a'))
  // What the disk has when the power fails before the next durable write.
  for (const suffix of ['', '-wal']) copyFileSync(`${file}${suffix}`, join(folder, `lost.sqlite${suffix}`))
  await things.insert(aThing('b'), [], 'with_next')
  const seen = (await store.changes?.position()) ?? ''
  await store.close()
  const after = openSqliteStore(join(folder, 'lost.sqlite'))
  await after.collection(THINGS).insert(aThing('c'))
  expect(await after.changes?.since(seen, 9)).toMatchObject({ known: true, changes: [{ id: 'c' }] })
  await after.close()
})
