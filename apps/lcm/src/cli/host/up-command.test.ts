import { expect, it } from 'vitest'
import type { Host } from '../command-dependencies.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

class Refused extends Error {
  readonly exitCode = 4
}

const hostThat = (up: Host['up']): Host => ({
  up,
  serve: async () => undefined,
  serveSim: async () => undefined,
  encryptBackup: chunks => chunks,
  checkBackup: async () => undefined,
  restore: async () => undefined,
  startupError: error => (error instanceof Refused ? { ...error, message: error.message, advice: null } : null),
})

async function optionsOf(env: Record<string, string>, ...args: string[]) {
  const seen: unknown[] = []
  const host = hostThat(async options => {
    seen.push({ ...options, env: null })
  })
  const { shell, err } = capturedShell({ host, env })
  return { code: await run(['up', ...args], shell), seen, err: err() }
}

it('leaves defaults to the host', async () => {
  const { seen } = await optionsOf({})
  expect(seen).toEqual([
    { cloud: 'sim', dataDir: '.lcm', port: null, simPort: null, speed: null, simPreset: null, simFleet: 0, env: null },
  ])
})

it('passes on the options', async () => {
  const args = [
    '--cloud',
    'aws',
    '--data',
    '/tmp/x',
    '--port',
    '9000',
    '--sim-port',
    '0',
    '--speed',
    '0.5',
    '--sim-preset',
    'hostile',
    '--sim-fleet',
    '12',
  ]
  const { seen } = await optionsOf({ LCM_DATA: '/ignored', LCM_CLOUD: 'sim' }, ...args)
  expect(seen).toEqual([
    {
      cloud: 'aws',
      dataDir: '/tmp/x',
      port: 9000,
      simPort: 0,
      speed: 0.5,
      simPreset: 'hostile',
      simFleet: 12,
      env: null,
    },
  ])
})

it('reads the environment without options', async () => {
  const { seen } = await optionsOf({ LCM_DATA: '/data', LCM_CLOUD: 'aws' })
  expect(seen).toMatchObject([{ cloud: 'aws', dataDir: '/data' }])
  expect(await optionsOf({ LCM_CLOUD: 'azure' })).toMatchObject({ code: 2, seen: [] })
})

it('prints the messages of the host and ends with it', async () => {
  const host = hostThat(async (_, io) => {
    io.out('console: http://127.0.0.1:8080')
    io.err('the simulator is slow')
    await new Promise<void>(resolve => {
      io.signal.addEventListener('abort', () => resolve())
      interrupt()
    })
    io.out('stopped')
  })
  const { shell, interrupt, out, err } = capturedShell({ host })
  expect(await run(['up'], shell)).toBe(0)
  expect(out()).toBe('console: http://127.0.0.1:8080\nstopped\n')
  expect(err()).toBe('the simulator is slow\n')
})

it('reports why a start was refused', async () => {
  const host = hostThat(() => Promise.reject(new Refused('.lcm is in use by process 7: stop that first')))
  const { shell, err } = capturedShell({ host })
  expect(await run(['up'], shell)).toBe(4)
  expect(err()).toBe('error: .lcm is in use by process 7: stop that first\n')
})

it('does not hide a defect of the host', async () => {
  const host = hostThat(() => Promise.reject(new TypeError('oops')))
  const { shell, err } = capturedShell({ host })
  expect(await run(['up'], shell)).toBe(1)
  expect(err()).toContain('internal error in lcm')
})
