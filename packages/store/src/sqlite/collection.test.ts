import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Kind } from '../store.ts'
import { documentCache } from './collection.ts'
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

const document = (id: string, version = 1) => ({ id, version })

describe('cached documents', () => {
  it('are returned only for the requested version', () => {
    const cache = documentCache()
    const known = document('a', 2)
    cache.put(known, 10)
    expect([cache.get('a', 2), cache.get('a', 1), cache.get('b', 2)]).toEqual([known, undefined, undefined])
    expect([cache.versionOf('a'), cache.versionOf('b')]).toEqual([2, 0])
  })

  it('have one version at a time', () => {
    const cache = documentCache()
    cache.put(document('a', 2), 10)
    cache.put(document('a', 3), 10)
    expect([cache.get('a', 2), cache.versionOf('a')]).toEqual([undefined, 3])
  })

  it('are evicted oldest first when the cache is full', () => {
    const cache = documentCache(100)
    for (const id of ['a', 'b', 'c']) cache.put(document(id), 40)
    expect(['a', 'b', 'c'].map(cache.versionOf)).toEqual([0, 1, 1])
  })

  it('count only with their newest version', () => {
    const cache = documentCache(100)
    for (const version of [1, 2, 3]) cache.put(document('a', version), 60)
    cache.put(document('b'), 40)
    expect(['a', 'b'].map(cache.versionOf)).toEqual([3, 1])
  })

  it('that exceed the limit alone are not cached', () => {
    const cache = documentCache(100)
    cache.put(document('a'), 101)
    expect(cache.versionOf('a')).toBe(0)
  })

  /** A document that changes and is read again and again. */
  function beBusy(cache: ReturnType<typeof documentCache>, changes: number, usesEach: number): void {
    for (let version = 1; version <= changes; version++) {
      cache.put(document('busy', version), 10)
      for (let use = 0; use < usesEach; use++) cache.versionOf('busy')
    }
  }

  it('are evicted when others are used often and they are not', () => {
    const cache = documentCache()
    for (const id of ['over', 'in use']) cache.put(document(id), 10)
    for (let n = 0; n < 40; n++) {
      beBusy(cache, 10, 50)
      cache.get('in use', 1)
    }
    expect([cache.versionOf('over'), cache.versionOf('in use')]).toEqual([0, 1])
  })

  it('that are inserted, barely change and are never read again do not pile up', () => {
    const cache = documentCache()
    for (let n = 0; n < 5_000; n++) {
      cache.put(document(`session-${n}`), 10)
      beBusy(cache, 1, 30)
    }
    expect(['session-0', 'session-3000', 'session-4999'].map(cache.versionOf)).toEqual([0, 0, 1])
  })

  it('stay while others are used less than a few times per document', () => {
    const cache = documentCache()
    const ids = Array.from({ length: 3_000 }, (_, n) => `${n}`)
    for (const id of ids) cache.put(document(id), 10)
    beBusy(cache, 400, 50)
    expect(ids.every(id => cache.versionOf(id) === 1)).toBe(true)
  })

  it('free their characters when they are evicted', () => {
    const cache = documentCache(10_000)
    cache.put(document('over'), 9_900)
    beBusy(cache, 400, 50)
    for (const id of ['a', 'b']) cache.put(document(id), 4_900)
    expect(['over', 'a', 'b'].map(cache.versionOf)).toEqual([0, 1, 1])
  })
})
