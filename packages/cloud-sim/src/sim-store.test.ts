import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memorySimStore, SimStoreError, sqliteSimStore } from './sim-store.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-sim-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const file = () => join(folder, 'sim.sqlite')

const STORES = [
  ['in memory', memorySimStore],
  ['in SQLite', () => sqliteSimStore(file())],
] as const

describe.each(STORES)('a store %s', (_name, open) => {
  it('returns committed records, and no removed ones', () => {
    const store = open()
    store.commit([
      { kind: 'a', key: '1', value: '{"x":1}' },
      { kind: 'a', key: '2', value: '{}' },
      { kind: 'b', key: '1', value: '{}' },
    ])
    store.commit([
      { kind: 'a', key: '1', value: '{"x":2}' },
      { kind: 'a', key: '2', value: null },
      { kind: 'a', key: 'never there', value: null },
    ])
    expect(['1', '2', 'never there'].map(key => store.read('a', key))).toEqual(['{"x":2}', null, null])
    const records = store.load().toSorted((a, b) => a.kind.localeCompare(b.kind))
    store.close()
    expect(records).toEqual([
      { kind: 'a', key: '1', value: '{"x":2}' },
      { kind: 'b', key: '1', value: '{}' },
    ])
  })
})

describe('a SQLite store', () => {
  it('has committed records on disk, however the process ends', () => {
    const store = sqliteSimStore(file())
    store.commit([{ kind: 'a', key: '1', value: '{}' }])
    const copy = join(folder, 'as-after-a-crash.sqlite')
    for (const suffix of ['', '-wal']) copyFileSync(file() + suffix, copy + suffix)
    store.close()
    const crashed = sqliteSimStore(copy)
    expect(crashed.load()).toEqual([{ kind: 'a', key: '1', value: '{}' }])
    crashed.close()
    expect(readdirSync(folder).toSorted()).toEqual(['as-after-a-crash.sqlite', 'sim.sqlite'])
  })

  it("rejects a file that isn't a database with a clear message", () => {
    writeFileSync(
      file(),
      'this is a text about something else, and it is long enough to be read as a header'.repeat(20),
    )
    expect(() => sqliteSimStore(file())).toThrow(SimStoreError)
    expect(() => sqliteSimStore(file())).toThrow(/can't be opened as a simulated cloud/)
  })

  it('rejects a damaged file with a clear message', () => {
    const store = sqliteSimStore(file())
    store.commit(Array.from({ length: 500 }, (_, n) => ({ kind: 'a', key: `${n}`, value: '{}'.padEnd(200) })))
    store.close()
    const bytes = readFileSync(file())
    writeFileSync(file(), bytes.fill(0xa5, 4096))
    expect(() => sqliteSimStore(file()).load()).toThrow(SimStoreError)
  })

  it("doesn't modify the database of another program", () => {
    const foreign = new DatabaseSync(file())
    foreign.exec('CREATE TABLE accounts (id INTEGER)')
    foreign.close()
    expect(() => sqliteSimStore(file())).toThrow(/the database of another program/)
    const still = new DatabaseSync(file())
    expect(still.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'accounts' }])
    still.close()
  })

  it('rejects a file of another version', () => {
    sqliteSimStore(file()).close()
    const database = new DatabaseSync(file())
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(() => sqliteSimStore(file())).toThrow(/another version of LCM/)
  })

  it('can be opened by one process at a time', () => {
    const store = sqliteSimStore(file())
    expect(() => sqliteSimStore(file())).toThrow(/locked/)
    store.close()
    sqliteSimStore(file()).close()
  })

  it('reports why a write fails', () => {
    const store = sqliteSimStore(file())
    store.close()
    expect(() => store.commit([{ kind: 'a', key: '1', value: '{}' }])).toThrow(SimStoreError)
    expect(() => store.commit([{ kind: 'a', key: '1', value: '{}' }])).toThrow(/sim\.sqlite can't be written: /)
  })

  it('closes without data loss when the disk is full', () => {
    const store = sqliteSimStore(file())
    store.commit([{ kind: 'a', key: '1', value: '{}' }])
    const inTheWay = `${file()}-journal`
    mkdirSync(inTheWay)
    store.close()
    rmdirSync(inTheWay)
    const again = sqliteSimStore(file())
    expect(again.load()).toEqual([{ kind: 'a', key: '1', value: '{}' }])
    again.close()
  })

  it('can be copied while it is open and written', async () => {
    const store = sqliteSimStore(file())
    store.commit([{ kind: 'a', key: '1', value: '{}' }])
    const copying = store.backup(join(folder, 'copy.sqlite'))
    store.commit([{ kind: 'b', key: '1', value: '{}' }])
    await copying
    store.close()
    const copy = sqliteSimStore(join(folder, 'copy.sqlite'))
    expect(copy.load()).toContainEqual({ kind: 'a', key: '1', value: '{}' })
    copy.close()
  })

  it('reports a missing folder', () => {
    expect(() => sqliteSimStore(join(folder, 'missing', 'sim.sqlite'))).toThrow(SimStoreError)
  })
})
