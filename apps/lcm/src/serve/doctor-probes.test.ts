import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@lcm/runtime/clock'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { holdLock } from './data/lock.ts'
import {
  type ExaminedEnvironment,
  examineAws,
  examineCoordination,
  examineFolder,
  examineStore,
  fileOfStore,
  readEnvironment,
} from './doctor-probes.ts'
import { StartupError } from './startup-error.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-examination-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const limits = () => ({ clock: systemClock, deadlineMs: 2000, signal: new AbortController().signal })

function read(env: Record<string, string>): ExaminedEnvironment {
  const environment = readEnvironment(env)
  if (environment instanceof StartupError) throw environment
  return environment
}

it('reads the environment like the services, or reports why they would refuse it', () => {
  expect(read({ ETCD_PORT: '2380', LCM_CLOUD: 'aws' })).toMatchObject({ ETCD_PORT: 2380, LCM_CLOUD: 'aws' })
  expect(readEnvironment({ ETCD_PORT: 'x' })).toMatchObject({
    message: expect.stringContaining('ETCD_PORT=x'),
    advice: expect.stringContaining('docs/reference/config.md'),
  })
  expect(readEnvironment({ LCM_STORE: 'postgres://x' })).toMatchObject({
    message: expect.stringContaining('LCM_STORE=(hidden)'),
  })
})

it('inspects a data folder without changing it', () => {
  expect(examineFolder(folder)).toEqual({ isLocked: false, cloud: null, fleet: null, store: null })
  writeFileSync(join(folder, 'cloud'), 'aws\n')
  new DatabaseSync(join(folder, 'lcm.sqlite')).exec('CREATE TABLE t (a)')
  const release = holdLock(join(folder, 'lock'), folder)
  expect(examineFolder(folder)).toMatchObject({ isLocked: true, cloud: 'aws', store: { problem: null } })
  release()
  expect(examineFolder(folder).isLocked).toBe(false)
})

it('skips unreadable files in a data folder', () => {
  for (const name of ['cloud', 'fleet-id']) mkdirSync(join(folder, name))
  expect(examineFolder(folder)).toMatchObject({ cloud: null, fleet: null })
})

it('checks the store that the environment names', async () => {
  const file = join(folder, 'x.sqlite')
  expect(await examineStore(read({}), limits())).toBeNull()
  expect(fileOfStore(read({ LCM_STORE: 'mongodb://h/lcm' }))).toBeNull()
  expect(fileOfStore(read({ LCM_STORE: `sqlite:${file}` }))).toBe(file)
  expect(await examineStore(read({ LCM_STORE: `sqlite:${file}` }), limits())).toMatchObject({
    problem: 'file not found',
  })
})

it('checks the etcd that the environment names', async () => {
  const members = await examineCoordination(read({ ETCD_ENDPOINTS: '127.0.0.1:1,127.0.0.1:2' }), limits())
  expect(members.map(({ endpoint, problem }) => [endpoint, problem?.code])).toEqual([
    ['127.0.0.1:1', 'etcd_unreachable'],
    ['127.0.0.1:2', 'etcd_unreachable'],
  ])
})

it.each(['http://', 'etcd:2379/v3'])('refuses an invalid etcd address: %s', async ETCD_ENDPOINTS => {
  const examined = (async () => examineCoordination(read({ ETCD_ENDPOINTS }), limits()))()
  await expect(examined).rejects.toThrow(StartupError)
  await expect(examined).rejects.toThrow(/^ETCD_ENDPOINTS: /)
})

it('refuses an invalid regions file', () => {
  const env = read({ AWS_REGIONS_CONFIG_PATH: join(folder, 'none.yaml') })
  expect(() => examineAws(env, { regions: [], launch: null, fleet: null }, limits())).toThrow(
    'not a usable regions file',
  )
})
