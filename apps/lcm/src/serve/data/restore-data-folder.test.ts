import {
  appendFileSync,
  chmodSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cookieOf, signIn, whoIs } from '@lcm/control-plane/access/testing/a-browser'
import { keyIdOf } from '@lcm/control-plane/crypto'
import { givenKeys } from '@lcm/control-plane/keys/secret-keys'
import { RESOURCES } from '@lcm/control-plane/resources'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { packBackup, sealedChunks } from '@lcm/store/sqlite/backup'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { oldStore } from '@lcm/testkit/old-stores/old-store'
import { beforeAll, expect, it } from 'vitest'
import { StartupError } from '../startup-error.ts'
import { openStore } from '../stores.ts'
import { type BackedUp, backupsOf, checkBackup } from './backup-file.ts'
import { openDataFolder } from './data-folder.ts'
import { encryptBackup } from './encrypted-backup.ts'
import { restore } from './restore-data-folder.ts'
import { holdRestoredFleet, UNFINISHED } from './restore-marks.ts'

const scratch = () => mkdtempSync(join(tmpdir(), 'lcm-restore-'))

async function backup(more: Partial<BackedUp> = {}): Promise<string> {
  const folder = scratch()
  const store = openSqliteStore(join(folder, 'lcm.sqlite'))
  const make = backupsOf({
    store,
    storeFile: join(folder, 'lcm.sqlite'),
    secretKeys: givenKeys([Buffer.alloc(32, 7)]),
    fleetId: 'lcm-1234',
    cloud: 'sim',
    copyCloud: async file => writeFileSync(file, 'a whole world'),
    clock: systemClock,
    log: silentLogger,
    ...more,
  })
  for await (const chunk of (await make?.(new AbortController().signal)) ?? [])
    appendFileSync(join(folder, 'fleet.backup'), chunk)
  await store.close()
  return join(folder, 'fleet.backup')
}

let file = ''
beforeAll(async () => {
  file = await backup()
})

async function restored(from: string, dataDir: string, passphrase: string | null = null) {
  const out: string[] = []
  const err: string[] = []
  await restore({ file: from, dataDir, passphrase }, { out: line => out.push(line), err: line => err.push(line) })
  return { out: out.join('\n'), err: err.join('\n') }
}

async function refusal(from: string, dataDir: string, passphrase: string | null = null): Promise<StartupError> {
  const error = await restored(from, dataDir, passphrase).catch((reason: unknown) => reason)
  if (error instanceof StartupError) return error
  throw new Error(`it was not refused: ${error}`)
}

it('creates a data folder that continues from the backup, readable by its owner only', async () => {
  const path = join(scratch(), 'deep', 'folder')
  const { out, err } = await restored(file, path)
  expect(out).toMatch(/^backup of 20\d\d-.*Z \(LCM \d.*folder$/m)
  expect(out).toContain(`start it with: lcm up --cloud sim --data ${path}`)
  expect(err).toBe('')
  const names = ['cloud', 'fleet-id', 'lcm.sqlite', 'restored', 'secret-key', 'sim.sqlite']
  expect(readdirSync(path).sort()).toEqual([...names, 'lock'].sort())
  for (const name of names) expect(statSync(join(path, name)).mode & 0o777, name).toBe(0o600)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(readFileSync(join(path, 'sim.sqlite'), 'utf8')).toBe('a whole world')
  const folder = openDataFolder(path, 'sim')
  expect(folder.fleetId).toBe('lcm-1234')
  expect(folder.secretKeys.all().map(key => Buffer.from(key))).toEqual([Buffer.alloc(32, 7)])
  expect(folder.adminToken).toMatch(/^\S{16,}$/)
  folder.release()
  expect(() => openDataFolder(path, 'aws')).toThrow(/belongs to a fleet in cloud "sim"/)
})

it('restores into an empty folder', async () => {
  const path = scratch()
  await restored(file, path)
  expect(existsSync(join(path, 'lcm.sqlite'))).toBe(true)
})

it('refuses a folder that other users can read', async () => {
  const path = scratch()
  chmodSync(path, 0o755)
  expect(await refusal(file, path)).toMatchObject({ advice: expect.stringContaining(`chmod 700 ${path}`) })
  expect(readdirSync(path)).toEqual([])
})

it('refuses a folder that is in use or not empty, and leaves it unchanged', async () => {
  const path = scratch()
  const held = openDataFolder(path, 'sim')
  expect(await refusal(file, path)).toMatchObject({
    exitCode: 4,
    message: expect.stringContaining('another LCM is already using'),
  })
  held.release()
  const before = readdirSync(path)
  expect(before).toContain('secret-key')
  expect(await refusal(file, path)).toMatchObject({
    message: expect.stringContaining('is not empty'),
    advice: expect.stringContaining('choose a new folder with --data'),
    exitCode: 4,
  })
  expect(readdirSync(path)).toEqual(before)

  const other = scratch()
  writeFileSync(join(other, '.hidden'), 'mine')
  expect((await refusal(file, other)).message).toContain('is not empty')
  expect(readdirSync(other)).toEqual(['.hidden'])
})

it('leaves nothing behind when the file is not a backup', async () => {
  const bytes = readFileSync(file)
  const at = Math.floor(bytes.length / 2)
  bytes[at] = (bytes[at] ?? 0) ^ 1
  const flipped = join(scratch(), 'flipped')
  writeFileSync(flipped, bytes)
  const path = join(scratch(), 'new')
  expect((await refusal(flipped, path)).message).toMatch(/flipped is damaged or truncated.*Use another backup/)
  expect((await refusal(join(scratch(), 'nowhere'), path)).message).toMatch(/nowhere can't be read/)
  expect(existsSync(path)).toBe(false)
  mkdirSync(path, { mode: 0o700 })
  expect((await refusal(flipped, path)).message).toContain('flipped is damaged')
  expect(readdirSync(path)).toEqual([])
})

it('restores an encrypted backup with its passphrase, and changes nothing without it', async () => {
  const encrypted = join(scratch(), 'fleet.backup')
  for await (const chunk of encryptBackup(createReadStream(file), 'correct horse', 10)) appendFileSync(encrypted, chunk)
  const path = join(scratch(), 'new')
  expect(await refusal(encrypted, path)).toMatchObject({
    message: expect.stringMatching(/fleet\.backup is encrypted$/),
    advice: 'give its passphrase with --passphrase-file',
  })
  expect(await refusal(encrypted, path, 'wrong horse')).toMatchObject({
    message: expect.stringMatching(/^this passphrase does not open .*fleet\.backup$/),
  })
  expect(existsSync(path)).toBe(false)
  await restored(encrypted, path, 'correct horse')
  expect(readdirSync(path).sort()).toEqual(
    ['cloud', 'fleet-id', 'lcm.sqlite', 'lock', 'restored', 'secret-key', 'sim.sqlite'].sort(),
  )
  await checkBackup(encrypted, 'correct horse')
})

it('continues with all keys of a backup that was made during a rotation', async () => {
  const path = join(scratch(), 'new')
  const keys = [Buffer.alloc(32, 8), Buffer.alloc(32, 7)]
  await restored(await backup({ secretKeys: givenKeys(keys) }), path)
  const folder = openDataFolder(path, 'sim')
  expect(folder.secretKeys.all().map(key => Buffer.from(key))).toEqual(keys)
  folder.secretKeys.file?.remove([keyIdOf(Buffer.alloc(32, 7))])
  folder.release()
  expect(readFileSync(join(path, 'secret-key'), 'utf8')).toBe(`${'08'.repeat(32)}\n`)
})

it('refuses to start after an incomplete restore', async () => {
  const path = scratch()
  writeFileSync(join(path, UNFINISHED), '')
  writeFileSync(join(path, 'secret-key'), '07'.repeat(32))
  expect(() => openDataFolder(path, 'sim')).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/the restore to .* is incomplete/),
      advice: expect.stringContaining('delete that folder'),
    }),
  )
  expect((await refusal(file, path)).message).toContain('contains an incomplete restore')
})

it('does not invent a fleet id for a backup without one', async () => {
  const path = scratch()
  const { err } = await restored(await backup({ fleetId: null, copyCloud: null }), path)
  expect(err).toMatch(/fleet-id is missing: write the LCM_FLEET/)
  expect(() => openDataFolder(path, 'sim')).toThrow(/fleet-id is missing/)
  writeFileSync(join(path, 'fleet-id'), 'prod\n')
  const folder = openDataFolder(path, 'sim')
  expect(folder.fleetId).toBe('prod')
  folder.release()
})

it('holds the fleet once, and removes the marker only when the hold is stored', async () => {
  const path = scratch()
  await restored(file, path)
  const held: string[] = []
  const access = { endSessions: async () => void held.push('signed out') }
  const failing = { holdFleet: () => Promise.reject(new Error('the disk is full')), access }
  await expect(holdRestoredFleet(path, failing)).rejects.toThrow('the disk is full')
  const plane = { holdFleet: async () => void held.push('held'), access }
  await holdRestoredFleet(path, plane)
  await holdRestoredFleet(path, plane)
  expect(held).toEqual(['held', 'signed out'])
})

it('signs browsers out that the backup had signed in', async () => {
  const path = scratch()
  const plane = aControlPlane()
  const { headers } = await signIn(plane, { token: 'admin' })
  const session = cookieOf({ headers })
  await restored(await backup({ store: plane.store }), path)
  const store = openStore(join(path, 'lcm.sqlite'), silentLogger)
  const again = aControlPlane({ store, clock: plane.clock })
  await holdRestoredFleet(path, again)
  expect(await whoIs(again, session)).toBe(401)
  const [entry] = (await again.send('GET', 'audit')).json.items
  expect(entry).toMatchObject({ action: 'logout', reason: 'the store was restored' })
  await store.close()
})

it('restores a backup of 0.1.0, which the first start upgrades', async () => {
  const old = oldStore()
  const text = (value: string) => Buffer.from(value)
  const parts = { 'secret-key': text('07'.repeat(32)), 'fleet-id': text('lcm-1234'), cloud: text('sim') }
  packBackup(old.file, new Map(Object.entries({ ...parts, 'made-at': text(old.copiedAt), version: text('0.1.0') })))
  const from = join(scratch(), 'old.backup')
  for await (const chunk of sealedChunks(old.file)) appendFileSync(from, chunk)
  const path = scratch()
  expect((await restored(from, path)).out).toContain('(LCM 0.1.0)')
  const store = openStore(join(path, 'lcm.sqlite'), silentLogger)
  const workers = await store.collection(RESOURCES.workers).list({ limit: 100 })
  expect(workers.length).toBeGreaterThan(10)
  for (const worker of workers) expect(RESOURCES.workers.parse(worker)).toEqual(worker)
  await store.close()
})
