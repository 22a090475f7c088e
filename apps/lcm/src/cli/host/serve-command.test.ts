import { expect, it } from 'vitest'
import type { Host } from '../command-dependencies.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

async function served(...args: string[]) {
  const seen: unknown[] = []
  const host: Host = {
    up: async () => undefined,
    serve: async options => {
      seen.push({ ...options, env: Object.keys(options.env) })
    },
    serveSim: async () => undefined,
    encryptBackup: chunks => chunks,
    checkBackup: async () => undefined,
    restore: async () => undefined,
    startupError: () => null,
  }
  const { shell, err } = capturedShell({ host, env: { LCM_FLEET: 'f' } })
  return { code: await run(['serve', ...args], shell), seen, err: err() }
}

it('runs one service, with the environment', async () => {
  expect(await served('worker-controller', '--port', '9', '--host', '0.0.0.0')).toMatchObject({
    code: 0,
    seen: [{ service: 'worker-controller', host: '0.0.0.0', port: 9, env: ['LCM_FLEET'] }],
  })
  expect((await served('control-plane-api')).seen).toMatchObject([{ host: '127.0.0.1', port: null }])
})

it('refuses an unknown service', async () => {
  const { code, seen, err } = await served('mailer')
  expect([code, seen]).toEqual([2, []])
  expect(err).toContain('control-plane-api')
})
