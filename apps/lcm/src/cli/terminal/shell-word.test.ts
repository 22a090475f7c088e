import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { shellWord } from './shell-word.ts'

it('leaves a plain name as it is', () => {
  expect(shellWord('metal-1')).toBe('metal-1')
})

it.each(['two words', "it's", '$(echo run)', '`echo run`', '*', '', '"'])('has a shell read %j as one word', name => {
  const { stdout } = spawnSync('sh', ['-c', `printf '<%s>' ${shellWord(name)}`], { encoding: 'utf8' })
  expect(stdout).toBe(`<${name}>`)
})
