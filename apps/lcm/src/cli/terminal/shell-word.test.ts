import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { shellWord } from './shell-word.ts'

it('leaves a plain name unquoted', () => {
  expect(shellWord('metal-1')).toBe('metal-1')
})

it.each(['two words', "it's", '$(echo run)', '`echo run`', '*', '', '"'])(
  'quotes %j so that a shell reads one word',
  name => {
    const { stdout } = spawnSync('sh', ['-c', `printf '<%s>' ${shellWord(name)}`], { encoding: 'utf8' })
    expect(stdout).toBe(`<${name}>`)
  },
)
