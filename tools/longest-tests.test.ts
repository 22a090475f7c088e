import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { filesOf } from './docs/markdown-pages.ts'
import { LONGEST } from './longest-tests.ts'

const tests = filesOf(fileURLToPath(new URL('..', import.meta.url)), '*.test.ts')

it.each(LONGEST)('a test file that starts first has %s in its path', part => {
  expect(tests.filter(path => path.includes(part))).not.toEqual([])
})
