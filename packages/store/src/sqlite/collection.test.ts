import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Kind } from '../store.ts'
import { openSqliteStore } from './store.ts'

interface Note {
  readonly id: string
  readonly version: number
  readonly text: string
}

const NOTES: Kind<Note> = {
  name: 'note',
  parse: body => body as Note,
  facets: note => ({ text: note.text }),
  announced: true,
}
const DRAFTS: Kind<Note> = { ...NOTES, name: 'draft', announced: false }

const note = (id: string, version: number, text: string): Note => ({ id, version, text })

it('reads each version of a document once', async () => {
  const store = openSqliteStore(':memory:')
  const notes = store.collection(NOTES)
  for (const id of ['a', 'b', 'c']) await notes.insert(note(id, 1, 'new'))
  const [a, b, c] = await notes.list({ limit: 9 })
  await notes.replace(note('b', 2, 'changed'))
  expect(await notes.get('a')).toBe(a)
  const later = await notes.list({ limit: 9 })
  expect([later[0] === a, later[1] === b, later[2] === c]).toEqual([true, false, true])
  expect((await notes.list({ limit: 9 })).map(({ version, text }) => [version, text])).toEqual([
    [1, 'new'],
    [2, 'changed'],
    [1, 'new'],
  ])
  expect((await notes.list({ where: { text: 'new' }, after: 'a', limit: 9 })).map(({ id }) => id)).toEqual(['c'])
  await notes.remove(note('b', 2, 'changed'))
  expect([await notes.get('b'), (await notes.list({ limit: 9 })).length]).toEqual([null, 2])
  await store.close()
})

it('sees what another connection wrote', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'lcm-store-')), 'lcm.sqlite')
  const [one, other] = [openSqliteStore(path), openSqliteStore(path)]
  await one.collection(NOTES).insert(note('a', 1, 'new'))
  const notes = other.collection(NOTES)
  expect((await notes.get('a'))?.text).toBe('new')
  await one.collection(NOTES).replace(note('a', 2, 'changed'))
  expect([(await notes.get('a'))?.text, (await notes.list({ limit: 1 }))[0]?.text]).toEqual(['changed', 'changed'])
  await Promise.all([one.close(), other.close()])
})

it('caches nothing of a kind whose ids may be reused', async () => {
  const store = openSqliteStore(':memory:')
  const drafts = store.collection(DRAFTS)
  await drafts.insert(note('a', 1, 'first'))
  expect((await drafts.get('a'))?.text).toBe('first')
  await drafts.remove(note('a', 1, 'first'))
  await drafts.insert(note('a', 1, 'second'))
  expect([(await drafts.get('a'))?.text, (await drafts.list({ limit: 1 }))[0]?.text]).toEqual(['second', 'second'])
  await store.close()
})
