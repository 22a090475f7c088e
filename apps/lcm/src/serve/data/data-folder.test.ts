import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { StartupError } from '../startup-error.ts'
import { openDataFolder } from './data-folder.ts'

const scratch = () => join(mkdtempSync(join(tmpdir(), 'lcm-data-')), 'deep', 'folder')

const refusal = (message: RegExp, advice: RegExp) =>
  expect.objectContaining({ message: expect.stringMatching(message), advice: expect.stringMatching(advice) })

it('creates its secrets once, readable by its owner only', () => {
  const path = scratch()
  const first = openDataFolder(path, 'sim')
  first.release()
  const second = openDataFolder(path, 'sim')
  expect(second.adminToken).toBe(first.adminToken)
  expect(second.secretKeys.all()).toEqual(first.secretKeys.all())
  expect(second.secretKeys.all()[0]).toHaveLength(32)
  expect(second.fleetId).toMatch(/^lcm-[0-9a-f]{8}$/)
  for (const name of ['admin-token', 'secret-key']) expect(statSync(join(path, name)).mode & 0o777, name).toBe(0o600)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  second.release()
})

it('keeps its secret keys, the newest first', () => {
  const path = scratch()
  const first = openDataFolder(path, 'sim')
  const [old = new Uint8Array()] = first.secretKeys.all()
  first.secretKeys.file?.add(Buffer.alloc(32, 8))
  first.release()
  const second = openDataFolder(path, 'sim')
  expect(second.secretKeys.all().map(key => Buffer.from(key))).toEqual([Buffer.alloc(32, 8), Buffer.from(old)])
  expect(statSync(join(path, 'secret-key')).mode & 0o777).toBe(0o600)
  second.release()
})

it('reads keys as they are written in LCM_SECRET_KEY, and with the line breaks of any editor', () => {
  const path = scratch()
  openDataFolder(path, 'sim').release()
  const [one, two] = [Buffer.alloc(32, 0xab), Buffer.alloc(32, 0xcd)]
  for (const separator of ['\n', '\r\n', ', ']) {
    const text = [one, two].map(key => key.toString('hex').toUpperCase()).join(separator)
    writeFileSync(join(path, 'secret-key'), `${text}\r\n`)
    const folder = openDataFolder(path, 'sim')
    expect(folder.secretKeys.all().map(key => Buffer.from(key))).toEqual([one, two])
    folder.release()
  }
})

it('refuses a folder that other users can read, and says how to close it', () => {
  for (const mode of [0o755, 0o705, 0o750]) {
    const path = mkdtempSync(join(tmpdir(), 'lcm-data-'))
    chmodSync(path, mode)
    expect(() => openDataFolder(path, 'sim')).toThrow(
      refusal(/^other users of this machine can read data folder .*lcm-data-/, /^run `chmod 700 \S*lcm-data-\S+`/),
    )
    expect(readdirSync(path)).toEqual([])
    chmodSync(path, 0o700)
    openDataFolder(path, 'sim').release()
  }
})

it('makes the files of an earlier release private', () => {
  const path = scratch()
  openDataFolder(path, 'sim').release()
  const names = ['lcm.sqlite', 'lcm.sqlite-wal', 'sim.sqlite']
  for (const name of names) writeFileSync(join(path, name), '', { mode: 0o644 })
  openDataFolder(path, 'sim').release()
  for (const name of names) expect(statSync(join(path, name)).mode & 0o777, name).toBe(0o600)
})

it('allows one process at a time', () => {
  const path = scratch()
  const first = openDataFolder(path, 'sim')
  expect(() => openDataFolder(path, 'sim')).toThrow(refusal(/another LCM is already using /, /--data/))
  first.release()
  openDataFolder(path, 'sim').release()
})

it('reports what is wrong with an unusable folder', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-data-')), 'a-file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below'), '/proc/lcm']) {
    expect(() => openDataFolder(path, 'sim'), path).toThrow(StartupError)
    expect(() => openDataFolder(path, 'sim'), path).toThrow(refusal(/can't write to data folder /, /--data/))
  }
})

it("names the file that can't be written, as on a full disk", () => {
  const path = scratch()
  const folder = openDataFolder(path, 'sim')
  for (const name of ['cloud.new', 'endpoints.json.new']) mkdirSync(join(path, name))
  expect(() => folder.bind()).toThrow(StartupError)
  expect(() => folder.bind()).toThrow(/can't write .*cloud: /)
  const endpoints = { api: 'http://localhost:1', aws: null, sim_control: null, pid: 7 }
  expect(() => folder.publish(endpoints)).toThrow(/can't write .*endpoints\.json: /)
  folder.release()
})

it('refuses to run a fleet of one cloud in another', () => {
  const path = scratch()
  const folder = openDataFolder(path, 'sim')
  folder.bind()
  folder.release()
  expect(() => openDataFolder(path, 'aws')).toThrow(refusal(/belongs to a fleet in cloud "sim", not "aws"/, /--data/))
  openDataFolder(path, 'sim').release()
})

it('refuses to change the id of an existing fleet, because its machines would become foreign', () => {
  const path = scratch()
  const folder = openDataFolder(path, 'sim')
  folder.bind()
  folder.release()
  rmSync(join(path, 'fleet-id'))
  expect(() => openDataFolder(path, 'sim')).toThrow(refusal(/fleet-id is missing/, /lcm:fleet/))
  writeFileSync(join(path, 'fleet-id'), `${folder.fleetId}\n`)
  openDataFolder(path, 'sim').release()
})

it('refuses a damaged key rather than sign with half of it', () => {
  const path = scratch()
  openDataFolder(path, 'sim').release()
  writeFileSync(join(path, 'secret-key'), 'zz')
  expect(() => openDataFolder(path, 'sim')).toThrow(/secret-key is damaged/)
})

it('refuses an empty secret rather than run without one', () => {
  const path = scratch()
  openDataFolder(path, 'sim').release()
  writeFileSync(join(path, 'admin-token'), '\n')
  expect(() => openDataFolder(path, 'sim')).toThrow(/admin-token is damaged/)
})

it('records the process id and address', () => {
  const folder = openDataFolder(scratch(), 'sim')
  folder.publish({ api: 'http://localhost:1', aws: null, sim_control: null, pid: 7 })
  expect(JSON.parse(readFileSync(folder.file('endpoints.json'), 'utf8'))).toMatchObject({
    api: 'http://localhost:1',
    pid: 7,
  })
  folder.release()
})
