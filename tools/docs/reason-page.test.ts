import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { REASONS } from '@lcm/domain/text/reasons/catalog'
import { expect, it } from 'vitest'
import { REASON_PAGE, reasonPage } from './reason-page.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(`${root}/${REASON_PAGE}`, 'utf8')

it('the reference lists every reason code with its message, and no other', () => {
  expect(page, 'run `npm run docs`').toBe(reasonPage())
  const listed = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)
  expect(page).not.toMatch(/undefined|NaN|\[object/)
  expect(listed.toSorted()).toEqual(Object.keys(REASONS).toSorted())
})

it('every reason code is compared in a test', () => {
  const listed = execFileSync('git', ['ls-files', '*.test.ts', '*.test.tsx'], { cwd: root, encoding: 'utf8' })
  const tests = listed.split('\n').filter(Boolean)
  const text = tests.map(path => readFileSync(`${root}/${path}`, 'utf8')).join('\n')
  const literals = new Set([...text.matchAll(/'(\w+)'/g)].map(([, literal]) => literal))
  expect(Object.keys(REASONS).filter(code => !literals.has(code))).toEqual([])
})
