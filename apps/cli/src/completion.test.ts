import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { run } from './program.ts'
import { capturedShell } from './testing/captured-shell.ts'

async function script(name: string): Promise<string> {
  const { shell, out } = capturedShell()
  expect(await run(['completion', name], shell)).toBe(0)
  return out()
}

/** What bash would offer after these words, the last of which is being typed. */
async function offered(...words: string[]): Promise<string[]> {
  const list = words.map(word => `'${word}'`).join(' ')
  const ask = `COMP_WORDS=(lcm ${list}); COMP_CWORD=${words.length}; _lcm; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = spawnSync('bash', ['--norc', '-c', `${await script('bash')}\n${ask}`], { encoding: 'utf8' })
  return stdout.split('\n').filter(line => line !== '')
}

it('completes commands, nouns and options in bash', async () => {
  expect(await offered('st')).toEqual(['start', 'stop'])
  expect(await offered('get', 'w')).toEqual(['workers', 'worker'])
  expect(await offered('get', 's')).toEqual(['sessions', 'session'])
  expect(await offered('retry', '')).toEqual(expect.arrayContaining(['worker', 'session']))
  expect(await offered('extend', 'session', '--m')).toEqual(['--minutes'])
  expect(await offered('terminate', 'worker', 'metal-1', '--y')).toEqual(['--yes'])
  expect(await offered('get', 'workers', '--u')).toEqual(['--url'])
})

it('has a script for zsh and for no other shell', async () => {
  expect(await script('zsh')).toContain('compdef _lcm lcm')
  expect(await run(['completion', 'fish'], capturedShell().shell)).toBe(2)
})
