import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { run } from './program.ts'
import { capturedShell } from './testing/captured-shell.ts'
import { aWorker } from './testing/resource-builders.ts'

async function ran(...args: string[]) {
  const captured = capturedShell()
  captured.api.put(aWorker())
  return { code: await run(args, captured.shell), out: captured.out(), err: captured.err() }
}

it('prints its version', async () => {
  expect(await ran('--version')).toEqual({ code: 0, out: `lcm ${manifest.version}\n`, err: '' })
})

it('prints help without arguments and on request', async () => {
  const { code, out, err } = await ran()
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('lcm create worker --template metal --wait')
  expect(await ran('--help')).toEqual({ code, out, err })
  expect((await ran('help', 'get')).out).toBe((await ran('get', '--help')).out)
})

it('has a help text with examples for every command', async () => {
  const { out } = await ran('__complete', '--', '')
  const groups = out.trim().split('\n')
  expect(groups).toContain('terminate')
  for (const group of groups) {
    const help = await ran(group, '--help')
    expect(help.code, group).toBe(0)
    expect(help.out, group).toContain('Examples:')
    expect(help.out, group).toContain('--url')
  }
})

it.each([
  [['nonsense']],
  [['get']],
  [['get', 'worlds']],
  [['get', 'workers', '--nonsense']],
  [['get', 'workers', '-o', 'xml']],
  [['describe', 'worker']],
  [['create', 'worker']],
  [['start', 'worker', 'metal-1', '--timeout', 'soon']],
  [['up', '--port', '99999']],
  [['up', '--speed', '0']],
  [['--url', 'nowhere', 'get', 'workers']],
])('refuses %j as a usage error', async args => {
  const { code, out, err } = await ran(...args)
  expect([code, out]).toEqual([2, ''])
  expect(err).not.toBe('')
})

it('accepts global options before and after the command', async () => {
  expect((await ran('--token', 'wrong', 'get', 'workers')).code).toBe(5)
  expect((await ran('get', 'workers', '--token', 'wrong')).code).toBe(5)
})

it('prints in one sentence what failed and what to do', async () => {
  expect((await ran('get', 'workers', '--token', 'wrong')).err).toBe(
    'error: not authenticated: set a valid token with --token or LCM_TOKEN\n',
  )
})

it('reports that no LCM is running on the data folder', async () => {
  const { shell, err } = capturedShell({ env: { LCM_DATA: '/nowhere/.lcm' } })
  expect(await run(['get', 'workers'], shell)).toBe(6)
  expect(err()).toBe(
    'error: no LCM is running with data folder /nowhere/.lcm: start it with `npm start`, or set --url\n',
  )
})

it('colors errors on a terminal unless colors are off', async () => {
  const errorOf = async (env: Record<string, string>, ...args: string[]) => {
    const { shell, err } = capturedShell({ isTty: true, env })
    await run(['get', 'workers', ...args], shell)
    return err().slice(0, 6)
  }
  const env = { LCM_DATA: '/nowhere' }
  expect(await errorOf(env)).toContain('\u001b')
  expect(await errorOf(env, '--no-color')).toBe('error:')
  expect(await errorOf({ ...env, NO_COLOR: '1' })).toBe('error:')
})

it('ends quietly when it is interrupted during a call', async () => {
  const { shell, api, interrupt, err } = capturedShell()
  interrupt()
  api.crash()
  expect(await run(['get', 'workers'], shell)).toBe(130)
  expect(err()).toBe('')
})
