import { expect, it } from 'vitest'
import { CHUNK_BYTES } from '../blob-chunks.ts'
import { THINGS } from '../conformance/store-fixture.ts'
import { openSqliteFile } from './database-file.ts'
import { sqliteStore } from './store.ts'

it('writes at most one chunk in a commit, however many blobs are written at once', async () => {
  const database = openSqliteFile(':memory:')
  let chunks = 0
  const inCommits: number[] = []
  const exec = (text: string): void => {
    if (/BEGIN/.test(text)) chunks = 0
    if (text === 'COMMIT') inCommits.push(chunks)
    database.exec(text)
  }
  const prepare = (text: string) => {
    const statement = database.prepare(text)
    if (!text.startsWith('INSERT OR REPLACE INTO blob_chunks')) return statement
    const run = (...row: never[]) => {
      chunks += 1
      return statement.run(...row)
    }
    return { run }
  }
  const counted = new Proxy(database, {
    get(target, name) {
      if (name === 'exec') return exec
      return name === 'prepare' ? prepare : Reflect.get(target, name, target)
    },
  })
  const store = sqliteStore(counted, { gather: setImmediate })
  const content = Buffer.alloc(2 * CHUNK_BYTES + 1, 'x')
  const ids = ['a', 'b', 'c', 'd']
  const writing = ids.map(id => store.blobs.write(id, content))
  const other = store.collection(THINGS).insert({ id: 'thing', version: 1, name: '', serial: null })
  expect(await Promise.all(writing)).toEqual([true, true, true, true])
  expect((await other).ok).toBe(true)
  expect(inCommits.filter(count => count > 0)).toEqual(Array.from({ length: 12 }, () => 1))
})
