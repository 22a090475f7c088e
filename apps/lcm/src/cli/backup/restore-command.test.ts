import { expect, it } from 'vitest'
import type { Host } from '../command-dependencies.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

class Refused extends Error {}

async function restored(restore: Host['restore'], env: Record<string, string>, ...args: string[]) {
  const host: Host = {
    up: async () => undefined,
    serve: async () => undefined,
    serveSim: async () => undefined,
    encryptBackup: chunks => chunks,
    checkBackup: async () => undefined,
    restore,
    startupError: error =>
      error instanceof Refused ? { exitCode: 4, message: error.message, advice: 'choose another folder' } : null,
  }
  const { shell, out, err } = capturedShell({ host, env })
  return { code: await run(['restore', ...args], shell), out: out(), err: err() }
}

it('restores into the data folder, and needs no API', async () => {
  const seen: unknown[] = []
  const restore: Host['restore'] = async (options, io) => {
    seen.push(options)
    io.out('done')
  }
  expect(await restored(restore, {}, 'a.backup', '--data', 'there')).toEqual({ code: 0, out: 'done\n', err: '' })
  await restored(restore, { LCM_DATA: 'elsewhere' }, 'a.backup')
  await restored(restore, {}, 'a.backup')
  expect(seen).toEqual(['there', 'elsewhere', '.lcm'].map(dataDir => ({ file: 'a.backup', dataDir, passphrase: null })))
})

it('ends with the exit code of the refusal', async () => {
  const refuse = () => Promise.reject(new Refused('the folder is not empty'))
  expect(await restored(refuse, {}, 'a.backup')).toEqual({
    code: 4,
    out: '',
    err: 'error: the folder is not empty: choose another folder\n',
  })
})
