import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnreachableError } from '@lcm/client/client'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import type { ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { beforeEach, expect, it } from 'vitest'
import type { Host } from '../command-dependencies.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'
import { cliApi } from '../testing/in-memory-api.ts'

class Refused extends Error {}

const HOST: Host = {
  up: async () => undefined,
  serve: async () => undefined,
  serveSim: async () => undefined,
  async *encryptBackup(chunks, passphrase) {
    yield Buffer.from(`${passphrase}: `)
    yield* chunks
  },
  checkBackup: async file => {
    if (!readFileSync(file, 'utf8').endsWith('end')) throw new Refused(`${file} is cut off`)
  },
  restore: async () => undefined,
  startupError: error => (error instanceof Refused ? { exitCode: 1, message: error.message, advice: null } : null),
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lcm-cli-backup-'))
})

async function* bytes(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}
const answer = (file: AsyncIterable<Uint8Array>): ApiResponse => ({
  status: 200,
  headers: { 'content-type': 'application/vnd.sqlite3', 'content-disposition': 'attachment' },
  body: null,
  file,
})

async function backup(dispatch: Dispatch, ...args: string[]) {
  const captured = capturedShell({ api: { ...cliApi(), dispatch }, host: HOST })
  const code = await run(['backup', join(folder, 'fleet.backup'), ...args], captured.shell)
  return { code, out: captured.out(), err: captured.err() }
}
const written = () => readFileSync(join(folder, 'fleet.backup'), 'utf8')

it('writes the backup, readable by its owner only, and reports it', async () => {
  const requests: string[] = []
  const { code, out, err } = await backup(async ({ method, url }) => {
    requests.push(`${method} ${url}`)
    return answer(bytes('begin ', 'and end'))
  })
  expect([code, requests, written()]).toEqual([0, ['POST /api/v1/backup'], 'begin and end'])
  expect(statSync(join(folder, 'fleet.backup')).mode & 0o777).toBe(0o600)
  expect(out).toContain('fleet.backup (0.0 MB)')
  expect(err).toContain('Protect it like the data folder')
  expect(readdirSync(folder)).toEqual(['fleet.backup'])
})

it('does not overwrite a file without --force, and makes no request', async () => {
  writeFileSync(join(folder, 'fleet.backup'), 'mine', { mode: 0o644 })
  const unreachable = async () => Promise.reject(new Error('a request was sent'))
  const { code, err } = await backup(unreachable)
  expect([code, written()]).toEqual([4, 'mine'])
  expect(err).toMatch(/fleet\.backup already exists: choose another name, or overwrite it with --force/)
  expect((await backup(async () => answer(bytes('end')), '--force')).code).toBe(0)
  expect(written()).toBe('end')
  expect(statSync(join(folder, 'fleet.backup')).mode & 0o777).toBe(0o600)
})

it('does not overwrite a file that was created meanwhile', async () => {
  async function* slow() {
    yield Buffer.from('the end')
    writeFileSync(join(folder, 'fleet.backup'), 'mine')
  }
  expect((await backup(async () => answer(slow()))).code).toBe(4)
  expect(written()).toBe('mine')
})

it('removes a broken download, and keeps the old file', async () => {
  async function* broken() {
    yield Buffer.from('begin')
    throw new UnreachableError('the stream broke')
  }
  const { code, err } = await backup(async () => answer(broken()))
  expect([code, readdirSync(folder)]).toEqual([6, []])
  expect(err).toContain('the download was interrupted and no file was kept: try again')
  writeFileSync(join(folder, 'fleet.backup'), 'old')
  expect((await backup(async () => answer(broken()), '--force')).code).toBe(6)
  expect([written(), readdirSync(folder)]).toEqual(['old', ['fleet.backup']])
})

it('removes a truncated download that was reported as complete', async () => {
  const { code, err } = await backup(async () => answer(bytes('begin')))
  expect([code, readdirSync(folder)]).toEqual([1, []])
  expect(err).toContain('the downloaded backup is incomplete')
})

it('reports why the API refuses', async () => {
  const problem = new ProblemError('backup_unavailable', 'use the tools of the database server, such as mongodump')
  const { code, err } = await backup(async () => ({
    status: 501,
    headers: { 'content-type': PROBLEM_MEDIA_TYPE },
    body: JSON.stringify(problem.toProblem('/api/v1/backup')),
  }))
  expect([code, readdirSync(folder)]).toEqual([1, []])
  expect(err).toContain('mongodump')
})

it("gives advice when the file can't be written", async () => {
  folder = join(folder, 'missing')
  const { code, err } = await backup(async () => answer(bytes('end')))
  expect(code).toBe(1)
  expect(err).toMatch(/fleet\.backup can't be written \(ENOENT\): create its folder first/)
  folder = mkdtempSync(join(tmpdir(), 'lcm-cli-backup-'))
  const captured = capturedShell({ host: HOST })
  expect(await run(['backup', folder, '--force'], captured.shell)).toBe(4)
  expect(captured.err()).toContain('choose the name of a file')
})

it('leaves nothing when the user interrupts', async () => {
  const captured = capturedShell({
    host: HOST,
    api: {
      ...cliApi(),
      dispatch: async ({ signal }) => {
        captured.interrupt()
        throw signal.reason
      },
    },
  })
  expect(await run(['backup', join(folder, 'fleet.backup')], captured.shell)).toBe(130)
  expect(existsSync(folder) && readdirSync(folder)).toEqual([])
  expect(captured.err()).toBe('')
})

it('encrypts with the first line of a file, and says to keep the passphrase', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-passphrase-')), 'passphrase')
  writeFileSync(file, 'correct horse battery\nsecond line\n')
  const { code, err } = await backup(async () => answer(bytes('the end')), '--passphrase-file', file)
  expect([code, written()]).toEqual([0, 'correct horse battery: the end'])
  expect(err).toContain('Keep the passphrase somewhere else: without it the backup cannot be restored.')
})

it('refuses a short passphrase, and makes no request', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'lcm-passphrase-')), 'passphrase')
  writeFileSync(file, 'short\n')
  const unreachable = async () => Promise.reject(new Error('a request was sent'))
  const { code, err } = await backup(unreachable, '--passphrase-file', file)
  expect([code, readdirSync(folder)]).toEqual([2, []])
  expect(err).toContain('has fewer than 12 characters: write a longer passphrase into it')
  expect((await backup(unreachable, '--passphrase-file', `${file}-none`)).err).toContain("can't be read (ENOENT)")
})
