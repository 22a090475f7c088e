import { expect, it } from 'vitest'
import { z } from 'zod'
import { isMissing, issueWords } from './schema-issue-words.ts'

const wordsFor = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues.map(issueWords)

it.each([
  [z.int().min(0), -7, 'at least 0'],
  [z.int().max(10), 11, 'at most 10'],
  [z.number().gt(0), 0, 'more than 0'],
  [z.int(), 1.5, 'it must be a whole number'],
  [z.string().min(1), '', 'at least 1 character'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'at most 2 entries'],
  [z.array(z.string()), 3, 'it must be a list'],
  [z.strictObject({ a: z.string() }), 'text', 'it must be fields with values'],
  [z.strictObject({}), { b: 1 }, 'LCM knows nothing of b here'],
  [z.object({ a: z.string() }), {}, 'it is missing, text'],
  [z.enum(['pause', 'none']), 'x', 'one of pause, none'],
  [z.literal('RUNNING'), 'x', 'it must be RUNNING'],
  [z.boolean(), 'x', 'it must be true or false'],
  [z.union([z.string(), z.int()]), null, 'it is none of what is allowed here'],
  [z.string().regex(/^a/, 'begins with a'), 'b', 'begins with a'],
  [z.string().regex(/^a/), 'b', 'it is not as it should be'],
  [z.record(z.string().regex(/^a/, 'names begin with a'), z.string()), { b: 'x' }, 'names begin with a'],
])('explains a schema issue, case %#', (schema, value, words) => {
  expect(wordsFor(schema, value)).toEqual([words])
})

it('detects a missing value', () => {
  const [issue] = z.object({ a: z.string() }).safeParse({}).error?.issues ?? []
  expect(issue && isMissing(issue)).toBe(true)
})
