import { appendFileSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { type Document, type Kind, type Store, StoreError } from '../store.ts'
import { packBackup, sealedChunks, unpackBackup, verifyBackup } from './backup.ts'
import { startNewHistory, TOMBSTONES_MAX } from './change-feed.ts'
import { openSqliteFile } from './database-file.ts'
import { openSqliteStore, sqliteStore } from './store.ts'

interface Note extends Document {
  readonly text: string
}
const parse = (body: unknown): Note => {
  const { id, version, text } = Object(body)
  return { id: String(id), version: Number(version), text: String(text) }
}
const NOTES: Kind<Note> = { name: 'note', parse, announced: true }
const folder = () => mkdtempSync(join(tmpdir(), 'lcm-backup-'))
const NOW_MS = Date.UTC(2026, 11, 1)
const BLOB = Buffer.alloc(1_500_000, 'x')
const KEY = Buffer.from('the secret key of this fleet')

async function write(store: Store, count: number): Promise<void> {
  const notes = store.collection(NOTES)
  const ids = Array.from({ length: count }, (_, i) => i)
  await Promise.all(ids.map(i => notes.insert({ id: `n-${i}`, version: 1, text: `note ${i} ${'.'.repeat(500)}` })))
}

async function sealed(packed: string, to: string): Promise<string> {
  for await (const chunk of sealedChunks(packed)) appendFileSync(to, chunk)
  return to
}

/** A complete backup of a store with some notes. */
async function aBackup(count = 50): Promise<string> {
  const at = folder()
  const store = openSqliteStore(join(at, 'lcm.sqlite'))
  await write(store, count)
  await store.blobs.write('blob', BLOB)
  await store.backup?.(join(at, 'copy'))
  await store.close()
  packBackup(join(at, 'copy'), new Map([['secret-key', KEY]]))
  return sealed(join(at, 'copy'), join(at, 'backup'))
}

it('restores the store with all its parts', async () => {
  const restored = join(folder(), 'lcm.sqlite')
  const parts = await unpackBackup(await aBackup(), restored, { nowMs: NOW_MS })
  expect([...parts.keys()]).toEqual(['secret-key'])
  expect(Buffer.from(parts.get('secret-key') ?? [])).toEqual(KEY)
  expect(statSync(restored).mode & 0o777).toBe(0o600)
  const store = openSqliteStore(restored)
  expect(await store.collection(NOTES).list({ limit: 100 })).toHaveLength(50)
  expect(Buffer.from((await store.blobs.read('blob')) ?? []).equals(BLOB)).toBe(true)
  await store.close()
  expect(readFileSync(restored).includes(KEY)).toBe(false)
})

describe('positions after a restore', () => {
  const note = (id: string, version = 1): Note => ({ id, version, text: '' })

  /** A store restored from the backup at that time. */
  async function back(backup: string, nowMs: number): Promise<Store> {
    const at = join(folder(), 'lcm.sqlite')
    await unpackBackup(backup, at, { nowMs })
    return openSqliteStore(at)
  }
  const positionOf = async ({ changes }: Store) => (await changes?.position()) ?? ''
  const since = (store: Store, position: string) => store.changes?.since(position, 100)

  it('knows no position of the lost history or of the history before it', async () => {
    const backup = await aBackup(3)
    const store = await back(backup, NOW_MS)
    for (const id of ['x', 'y', 'z']) await store.collection(NOTES).insert(note(id))
    for (const position of ['0', '2', '3', '6']) expect(await since(store, position)).toEqual({ known: false })
    await store.close()
  })

  it('continues from the start of the new history', async () => {
    const store = await back(await aBackup(3), NOW_MS)
    const begin = await positionOf(store)
    expect(await since(store, begin)).toEqual({ known: true, changes: [] })
    expect(await store.announcements.pending(10)).toHaveLength(3)
    await store.collection(NOTES).replace(note('n-1', 2))
    const position = await positionOf(store)
    expect(position).toBe(String(Number(begin) + 1))
    const change = { kind: 'note', id: 'n-1', version: 2, deleted: false, position }
    expect(await since(store, begin)).toEqual({ known: true, changes: [change] })
    await store.close()
  })

  it('knows no position of an earlier restore either, whatever the clock says', async () => {
    const backup = await aBackup(3)
    const first = await back(backup, NOW_MS)
    await write(first, 3)
    await first.collection(NOTES).insert(note('x'))
    const seen = await positionOf(first)
    await first.close()
    for (const nowMs of [NOW_MS + 1, NOW_MS - 3_600_000, 0]) {
      const again = await back(backup, nowMs)
      for (const id of ['x', 'y']) await again.collection(NOTES).insert(note(id))
      expect(await since(again, seen)).toEqual({ known: false })
      await again.close()
    }
  })

  it('still knows none when deletions from before it are pruned', async () => {
    const db = openSqliteFile(':memory:')
    const store = sqliteStore(db)
    const notes = store.collection(NOTES)
    await write(store, TOMBSTONES_MAX + 1)
    for (const each of await notes.list({ limit: TOMBSTONES_MAX + 1 })) await notes.remove(each)
    startNewHistory(db, NOW_MS)
    await notes.insert(note('x'))
    await notes.remove(note('x'))
    expect(await since(store, String(2 * TOMBSTONES_MAX))).toEqual({ known: false })
    await store.close()
  })

  it('starts a new history where nothing was ever written', async () => {
    const store = await back(await aBackup(0), NOW_MS)
    expect(await since(store, '0')).toEqual({ known: false })
    expect(await since(store, await positionOf(store))).toEqual({ known: true, changes: [] })
    await store.close()
  })
})

it('is one consistent file, whatever is written meanwhile', async () => {
  const at = folder()
  const store = openSqliteStore(join(at, 'lcm.sqlite'), { gather: setImmediate })
  await write(store, 2000)
  const pair = store.collection({ ...NOTES, name: 'pair' })
  let isDone = false
  const copying = store.backup?.(join(at, 'copy')).then(() => {
    isDone = true
  })
  let round = 0
  for (; !isDone || round < 3; round += 1)
    await Promise.all(['a', 'b'].map(side => pair.insert({ id: `${round}${side}`, version: 1, text: '' })))
  await copying
  await store.close()
  packBackup(join(at, 'copy'), new Map())
  await unpackBackup(await sealed(join(at, 'copy'), join(at, 'backup')), join(at, 'restored'), { nowMs: NOW_MS })
  const restored = openSqliteStore(join(at, 'restored'))
  const found = await restored.collection({ ...NOTES, name: 'pair' }).list({ limit: 10_000 })
  expect(await restored.collection(NOTES).list({ limit: 10_000 })).toHaveLength(2000)
  // Two writes of one commit are either both there or both missing.
  expect(found.filter(({ id }) => id.endsWith('a'))).toHaveLength(found.filter(({ id }) => id.endsWith('b')).length)
  await restored.close()
})

it('waits for a running copy before it closes', async () => {
  const at = folder()
  const store = openSqliteStore(join(at, 'lcm.sqlite'))
  await write(store, 1000)
  const copying = store.backup?.(join(at, 'copy'))
  let isClosed = false
  const closing = store.close().then(() => {
    isClosed = true
  })
  // The copy needs an event loop iteration to finish, and awaiting null allows none.
  for (let i = 0; i < 10; i++) await null
  expect(isClosed).toBe(false)
  await Promise.all([copying, closing])
  const copy = openSqliteStore(join(at, 'copy'))
  expect(await copy.collection(NOTES).list({ limit: 10_000 })).toHaveLength(1000)
  await copy.close()
})

it('opens with SQLite tools in spite of its seal', async () => {
  const db = new DatabaseSync(await aBackup(), { readOnly: true })
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(db.prepare('SELECT count(*) AS count FROM documents').get()).toEqual({ count: 50 })
  db.close()
})

describe('a file that is not a backup', () => {
  const refusal = async (file: string): Promise<string> => {
    const to = join(folder(), 'to')
    const errors = await Promise.all(
      [verifyBackup(file), unpackBackup(file, to, { nowMs: NOW_MS })].map(each => each.catch(e => e)),
    )
    for (const error of errors) expect(error).toBeInstanceOf(StoreError)
    expect(errors[1].message).toBe(errors[0].message)
    return errors[0].message
  }
  const given = (content: string | Uint8Array): string => {
    const file = join(folder(), 'given')
    writeFileSync(file, content)
    return file
  }

  it('is refused', async () => {
    expect(await refusal(join(folder(), 'nowhere'))).toMatch(/nowhere can't be read: no such file.*lcm backup/)
    expect(await refusal(folder())).toContain("can't be read")
    expect(await refusal(given(''))).toMatch(/is not an LCM backup.*lcm backup/)
    expect(await refusal(given('PK\u0003\u0004 something else'))).toContain('is not an LCM backup')
  })

  it('is refused when it is a store, and a backup is refused as a store', async () => {
    const path = join(folder(), 'lcm.sqlite')
    await openSqliteStore(path).close()
    expect(await refusal(path)).toContain('is not an LCM backup')
    const backup = await aBackup()
    expect(() => openSqliteStore(backup)).toThrow(StoreError)
  })

  it('is refused when a newer LCM made it', async () => {
    const bytes = readFileSync(await aBackup())
    bytes.writeUInt32BE(99, 60)
    expect(await refusal(given(bytes))).toMatch(/was made by a newer LCM \(schema 99.*Restore it with that version/)
  })

  it('is refused when a newer LCM wrote its documents', async () => {
    const at = folder()
    const store = openSqliteStore(join(at, 'lcm.sqlite'), { schema: { kinds: [NOTES], upgrades: [{}, {}] } })
    await store.backup?.(join(at, 'copy'))
    await store.close()
    packBackup(join(at, 'copy'), new Map())
    const file = await sealed(join(at, 'copy'), join(at, 'backup'))
    const schema = { kinds: [NOTES], upgrades: [{}] }
    await expect(unpackBackup(file, join(at, 'to'), { nowMs: NOW_MS, schema })).rejects.toThrow(
      /newer LCM \(documents of schema 2, this one reads up to 1\)/,
    )
  })

  it('is refused when any one bit differs', async () => {
    const whole = readFileSync(await aBackup())
    for (let i = 0; i < 25; i++) {
      const bytes = Buffer.from(whole)
      // Past the header, whose fields identify the file; the last position is in the seal.
      const at = 200 + Math.floor((i * (whole.length - 201)) / 24)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(await refusal(given(bytes)), `byte ${at}`).toMatch(/is damaged or truncated.*Use another backup/)
    }
  })

  it('is refused when it is truncated', async () => {
    const whole = readFileSync(await aBackup())
    for (const length of [100, 4096, whole.length - 84, whole.length - 1])
      expect(await refusal(given(whole.subarray(0, length))), `${length} bytes`).toContain('is damaged or truncated')
  })

  it('is refused when the store was damaged before it was packed', async () => {
    const at = folder()
    const source = openSqliteStore(join(at, 'lcm.sqlite'))
    await write(source, 200)
    await source.backup?.(join(at, 'copy'))
    await source.close()
    packBackup(join(at, 'copy'), new Map())
    const bytes = readFileSync(join(at, 'copy'))
    bytes.fill(0xff, 5 * 4096, 7 * 4096)
    writeFileSync(join(at, 'copy'), bytes)
    const file = await sealed(join(at, 'copy'), join(at, 'backup'))
    await expect(unpackBackup(file, join(at, 'to'), { nowMs: NOW_MS })).rejects.toThrow(/is damaged or truncated/)
  })

  it('never overwrites a file', async () => {
    const to = given('something of mine')
    await expect(unpackBackup(await aBackup(), to, { nowMs: NOW_MS })).rejects.toThrow('EEXIST')
    expect(readFileSync(to, 'utf8')).toBe('something of mine')
    expect(existsSync(`${to}-journal`)).toBe(false)
  })
})
