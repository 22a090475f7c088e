import { mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keyIdOf } from '@lcm/control-plane/crypto'
import { givenKeys, storedKeys } from '@lcm/control-plane/keys/secret-keys'
import { silentLogger } from '@lcm/runtime'
import { unpackBackup } from '@lcm/store/sqlite/backup'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Store } from '@lcm/store/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { StartupError } from '../startup-error.ts'
import { type BackedUp, backupsOf, checkBackup } from './backup-file.ts'

let folder = ''
let store: Store
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-backup-'))
  store = openSqliteStore(join(folder, 'lcm.sqlite'))
})
afterEach(() => store.close())

const source = (more: Partial<BackedUp> = {}): BackedUp => ({
  store,
  storeFile: join(folder, 'lcm.sqlite'),
  secretKeys: givenKeys([Buffer.alloc(32, 7)]),
  fleetId: 'lcm-1234',
  cloud: 'sim',
  copyCloud: file => appendFile(file, 'a whole world'),
  clock: manualClock(Date.parse('2026-01-02T03:04:05.678Z')),
  log: silentLogger,
  ...more,
})
const make = (more: Partial<BackedUp> = {}, signal = new AbortController().signal) => {
  const backup = backupsOf(source(more))
  if (backup === null) throw new Error('this store makes no backups')
  return backup(signal)
}
const copies = () => readdirSync(folder).filter(name => name.includes('backup-'))

async function saved(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-saved-')), 'fleet.backup')
  for await (const chunk of chunks) await appendFile(file, chunk)
  return file
}

const partsIn = async (file: string) => {
  const parts = await unpackBackup(file, join(folder, 'unpacked'), { nowMs: Date.UTC(2026, 11, 1) })
  return Object.fromEntries([...parts].map(([name, content]) => [name, Buffer.from(content).toString('utf8')]))
}

it('contains everything needed to continue elsewhere, and no token', async () => {
  const file = await saved(await make())
  await checkBackup(file, null)
  expect(await partsIn(file)).toEqual({
    'secret-key': '07'.repeat(32),
    'fleet-id': 'lcm-1234',
    cloud: 'sim',
    'made-at': '2026-01-02T03:04:05.678Z',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    'sim.sqlite': 'a whole world',
  })
  expect(copies()).toEqual([])
})

it('holds every key that a text of the copy may be sealed with', async () => {
  const keys = storedKeys([Buffer.alloc(32, 7)])
  // The key is rotated during the copy.
  const copying: Store = {
    ...store,
    async backup(file) {
      await store.backup?.(file)
      keys.file?.add(Buffer.alloc(32, 8))
      keys.file?.remove([keyIdOf(Buffer.alloc(32, 7))])
    },
  }
  const file = await saved(await make({ store: copying, secretKeys: keys }))
  expect((await partsIn(file))['secret-key']).toBe(`${'08'.repeat(32)}\n${'07'.repeat(32)}`)
})

it('omits files that this process does not have', async () => {
  const file = await saved(await make({ fleetId: null, copyCloud: null, cloud: 'aws' }))
  expect(Object.keys(await partsIn(file)).sort()).toEqual(['cloud', 'made-at', 'secret-key', 'version'])
})

it('writes its temporary copy where only its owner can read it', async () => {
  const chunks = await make()
  const [name = ''] = copies()
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o700)
  for (const file of readdirSync(join(folder, name)))
    expect(statSync(join(folder, name, file)).mode & 0o777, file).toBe(0o600)
  await saved(chunks)
})

it('removes its temporary copy when the reader disconnects, before or after the first byte', async () => {
  const early = new AbortController()
  await make({}, early.signal)
  expect(copies()).toHaveLength(1)
  early.abort()
  await expect.poll(copies).toEqual([])

  const late = new AbortController()
  const chunks = (await make({}, late.signal))[Symbol.asyncIterator]()
  await chunks.next()
  late.abort()
  await expect(chunks.next()).rejects.toThrow('abort')
  expect(copies()).toEqual([])

  const during = new AbortController()
  await make({ copyCloud: async () => during.abort() }, during.signal)
  await expect.poll(copies).toEqual([])
})

it('reports why it failed, and leaves nothing behind', async () => {
  const full = { ...store, backup: () => Promise.reject(new Error('database or disk is full')) }
  await expect(make({ store: full })).rejects.toMatchObject({
    code: 'store_unavailable',
    message: 'the backup failed: database or disk is full',
  })
  expect(copies()).toEqual([])
})

it('removes the incomplete backups of a dead process, and nothing else', () => {
  mkdirSync(join(folder, 'lcm.sqlite.backup-old'))
  writeFileSync(join(folder, 'lcm.sqlite.backup-old', 'backup'), 'secrets')
  writeFileSync(join(folder, 'other.sqlite.backup'), 'mine')
  backupsOf(source())
  expect(readdirSync(folder).filter(name => name.includes('backup'))).toEqual(['other.sqlite.backup'])
})

it('is not offered for a store with its own backup tools', () => {
  expect(backupsOf(source({ store: { ...store, backup: null } }))).toBeNull()
})

it('refuses a file that is not a backup', async () => {
  await expect(checkBackup(join(folder, 'lcm.sqlite'), null)).rejects.toBeInstanceOf(StartupError)
})
