import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { run } from './program.ts'
import { capturedShell } from './testing/captured-shell.ts'
import { aDefinition, aTemplate, aWorker } from './testing/samples.ts'

/** What a shell would offer after these words, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const { shell, outLines, err, api } = capturedShell()
  api.put(aWorker({ name: 'metal-1' }))
  api.put(aWorker({ id: 'w-0abcdefgh0002', name: 'old', status: 'TERMINATED', desired_status: 'TERMINATED' }))
  api.putTemplate(aTemplate({ name: 'metal' }))
  api.lablets.definitions.put(aDefinition())
  expect(await run(['__complete', '--', ...words], shell)).toBe(0)
  expect(err()).toBe('')
  return outLines()
}

it('offers commands, nouns and options', async () => {
  expect(await offered('st')).toEqual(['start', 'stop'])
  expect(await offered('')).toEqual(expect.arrayContaining(['up', 'get', 'doctor', 'apply']))
  expect(await offered('')).not.toContain('__complete')
  expect(await offered('get', 'w')).toEqual(['workers', 'worker'])
  expect(await offered('retry', '')).toEqual(expect.arrayContaining(['worker', 'session']))
  expect(await offered('extend', 'session', '--m')).toEqual(['--minutes'])
  expect(await offered('terminate', 'worker', 'metal-1', '--y')).toEqual(['--yes'])
  expect(await offered('get', 'workers', '--u')).toEqual(['--url'])
  expect(await offered('get', 'workers', '-o', '')).toEqual(['table', 'json', 'yaml', 'name'])
  expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
  expect(await offered('serve', 'c')).toEqual(['control-plane-api'])
})

it('offers the names of what there is', async () => {
  expect(await offered('stop', 'worker', '')).toEqual(['metal-1'])
  expect(await offered('get', 'worker', 'm')).toEqual(['metal-1'])
  expect(await offered('get', '--watch', 'workers', '')).toEqual(['metal-1'])
  expect(await offered('book', 't')).toEqual(['two-routers'])
  expect(await offered('create', 'worker', '--template', '')).toEqual(['metal'])
  expect(await offered('get', 'templates', '')).toEqual(['metal'])
  expect(await offered('stop', 'worker', 'metal-1', '')).toEqual([])
})

it('is silent when nobody answers, or not in time', async () => {
  const { shell, api, out, err } = capturedShell()
  api.crash()
  expect(await run(['__complete', '--', 'stop', 'worker', ''], shell)).toBe(0)
  expect(out() + err()).toBe('')
  const slow = capturedShell()
  const transport = async () => () => new Promise<never>(() => undefined)
  const asked = run(['__complete', '--', 'stop', 'worker', ''], { ...slow.shell, transport })
  await slow.clock.advance(1_000)
  expect(await asked).toBe(0)
  expect(slow.out() + slow.err()).toBe('')
})

async function script(name: string): Promise<string> {
  const { shell, out } = capturedShell()
  expect(await run(['completion', name], shell)).toBe(0)
  return out()
}

it('is asked by bash with the words as they were typed', async () => {
  const lcm = `lcm() { [ "$1 $2" = "__complete --" ] && printf '%s\\n' "\${@:3}" "$((\${#@} - 2)) words" "two words"; }`
  const ask = `COMP_WORDS=(lcm get 'a b' ''); COMP_CWORD=3; _lcm; printf '<%s>' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', `${lcm}\n${await script('bash')}\n${ask}`], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(stdout).toBe('<get><a b><3 words><two words>')
})

it('has a script for zsh and fish too, and for no other shell', async () => {
  expect(await script('zsh')).toContain('compdef _lcm lcm')
  expect(await script('fish')).toContain('complete -c lcm')
  expect(await run(['completion', 'csh'], capturedShell().shell)).toBe(2)
})
