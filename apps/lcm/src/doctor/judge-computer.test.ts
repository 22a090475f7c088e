import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { judgeDisk, judgeFolder, judgeNode } from './judge-computer.ts'
import { probeDisk, probeFolder } from './probe-computer.ts'

const GB = 1024 ** 3

it('requires the Node.js version of package.json', () => {
  const root = new URL('../../../../package.json', import.meta.url)
  const [, major, minor] = /(\d+)\.(\d+)/.exec(JSON.parse(readFileSync(root, 'utf8')).engines.node) ?? []
  expect(judgeNode(`v${major}.${minor}.0`).severity).toBe('ok')
  expect(judgeNode(`v${major}.${Number(minor) - 1}.0`).severity).toBe('failure')
  expect(judgeNode('v18.20.0')).toMatchObject({ severity: 'failure', advice: expect.stringContaining('install') })
})

it.each([
  ['ok', 500 * GB, null],
  ['warning', GB / 2, null],
  ['failure', 99 * 1024 ** 2, null],
  ['failure', 500 * GB, 0],
  ['warning', 500 * GB, 10],
])('reports %s when %i bytes and %s inodes are free', (severity, freeBytes, freeFiles) => {
  expect(judgeDisk({ path: '/data', freeBytes, totalBytes: 1000 * GB, freeFiles }).severity).toBe(severity)
})

it('names a full disk with its path', async () => {
  const full = await probeDisk('/data/.lcm', async path => {
    if (path !== '/data') throw new Error('ENOENT')
    return { bavail: 3, blocks: 1000, bsize: 4096, files: 0, ffree: 0 }
  })
  expect(full).toEqual({ path: '/data/.lcm', freeBytes: 12_288, totalBytes: 4_096_000, freeFiles: null })
  expect(full && judgeDisk(full).message).toBe('the disk is full: 0.0 MB of 3.9 MB free on the disk of /data/.lcm')
})

it('reads a real disk, and ignores /proc', async () => {
  expect((await probeDisk(tmpdir()))?.totalBytes).toBeGreaterThan(0)
  expect(await probeDisk('/proc')).toBeNull()
})

it('inspects a real folder and the process that uses it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lcm-doctor-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  expect(await probeFolder(folder)).toEqual({ path: folder, exists: true, problem: null, process: null })
  await writeFile(join(folder, 'endpoints.json'), JSON.stringify({ pid: process.pid }, null, 2))
  expect((await probeFolder(folder)).process).toEqual({ pid: process.pid, lives: true })
  expect(await probeFolder(join(folder, 'none'))).toMatchObject({ exists: false, problem: null })
  expect(await probeFolder(join(folder, 'endpoints.json'))).toMatchObject({
    exists: true,
    problem: 'it is not a folder',
  })
})

const FOLDER = { path: '.lcm', exists: true, problem: null, isLocked: true, process: { pid: 7, lives: true } }

it.each([
  ['ok', FOLDER, true, 'in use by process 7'],
  [
    'warning',
    { ...FOLDER, isLocked: false, process: { pid: 7, lives: false } },
    true,
    'data folder .lcm is not in use by any LCM',
  ],
  ['ok', { ...FOLDER, isLocked: false, process: null }, false, 'data folder .lcm OK, not in use'],
  ['warning', { ...FOLDER, isLocked: false }, true, 'does not hold the lock'],
  ['failure', { ...FOLDER, problem: 'permission denied' }, true, 'permission denied'],
  ['warning', { ...FOLDER, exists: false }, true, 'data folder .lcm does not exist'],
  ['ok', { ...FOLDER, exists: false }, false, 'data folder .lcm does not exist and is not needed'],
])('rates a folder as %s: %j', (severity, facts, isNeeded, words) => {
  const finding = judgeFolder(facts, isNeeded)
  expect(finding.severity).toBe(severity)
  expect(finding.message).toContain(words)
})
