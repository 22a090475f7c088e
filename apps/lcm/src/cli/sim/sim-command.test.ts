import { expect, it } from 'vitest'
import type { Host } from '../command-dependencies.ts'
import { run } from '../program.ts'
import { capturedShell } from '../testing/captured-shell.ts'

async function simulated(...args: string[]) {
  const seen: unknown[] = []
  const host: Host = {
    up: async () => undefined,
    serve: async () => undefined,
    serveSim: async options => {
      seen.push(options)
    },
    encryptBackup: chunks => chunks,
    checkBackup: async () => undefined,
    restore: async () => undefined,
    startupError: () => null,
  }
  const { shell, err } = capturedShell({ host, env: { LCM_DATA: '/ignored' } })
  return { code: await run(['sim', ...args], shell), seen, err: err() }
}

it('runs at real speed, without faults and in memory by default', async () => {
  const defaults = { port: null, dataDir: null, seed: 1, speed: 1, preset: null, cml: 'on', fleet: 0 }
  expect(await simulated()).toMatchObject({ code: 0, seen: [defaults] })
})

it('passes on the options', async () => {
  const args = '--port 0 --data /tmp/w --seed 9 --speed 60 --preset hostile --cml off --fleet 12'.split(' ')
  const wanted = { port: 0, dataDir: '/tmp/w', seed: 9, speed: 60, preset: 'hostile', cml: 'off', fleet: 12 }
  expect((await simulated(...args)).seen).toEqual([wanted])
})

it.each([
  ['--preset', 'angry', 'calm, realistic, hostile'],
  ['--seed', '-1', 'whole number'],
  ['--fleet', '10001', '10000'],
  ['--cml', 'maybe', 'on, off'],
  ['--speed', '0', 'above 0'],
])('refuses %s %s and shows the allowed values', async (flag, value, hint) => {
  const { code, seen, err } = await simulated(flag, value)
  expect([code, seen]).toEqual([2, []])
  expect(err).toContain(hint)
})
