import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { PROBLEMS } from '../problem-codes.ts'
import { problemExample } from './problem-responses.ts'

it('errors.md has the help of every problem', () => {
  const page = readFileSync(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter(line => line.startsWith('| `'))
  const expected = Object.entries(PROBLEMS).map(([code, { status, help }]) => `| \`${code}\` | ${status} | ${help} |`)
  expect(rows).toEqual(expected)
})

it('names the wrong field of a failed validation', () => {
  const { detail, errors = [] } = problemExample('validation_failed')
  expect(errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([detail])
})
