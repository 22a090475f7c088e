import type { ApiRequest } from '@lcm/contract/route-spec'
import { ROUTES } from '@lcm/contract/routes'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ifMatchOf, jsonOf, parse, queryOf, refuseUnsafeValues } from './parse-request.ts'

const HALF = '\ud800'
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const failureOf = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return error
  }
  return null
}

it.each([
  ['NUL', { name: 'a\u0000b' }, 'body.name: NUL is not allowed'],
  ['NUL in a key', { labels: { '\u0000': 'x' } }, 'body.labels: NUL is not allowed'],
  ['a lone surrogate', { tags: [HALF] }, 'body.tags.0: half of a character is not allowed'],
  ['a lone surrogate in a key', { [HALF]: 1 }, 'body: half of a character is not allowed'],
  ['the key __proto__', JSON.parse('{"tags":{"__proto__":"x"}}'), 'body.tags: __proto__'],
])('refuses %s', (_, value, words) => {
  expect(failureOf(() => refuseUnsafeValues(value, 'body'))).toMatchObject({
    code: 'validation_failed',
    message: expect.stringContaining(words),
  })
})

it('accepts characters outside the basic plane', () => {
  expect(failureOf(() => refuseUnsafeValues({ name: '\u{1f600}' }, 'body'))).toBeNull()
})

it('refuses ten thousand levels of nesting instead of overflowing the stack', () => {
  expect(failureOf(() => refuseUnsafeValues(nested(10_000), 'body'))).toMatchObject({
    code: 'validation_failed',
    message: expect.stringMatching(/nested too deeply$/),
  })
  expect(failureOf(() => refuseUnsafeValues(nested(20), 'body'))).toBeNull()
})

it('refuses a query parameter that is given twice', () => {
  expect(queryOf(new URL('http://x/?a=1&b=2'))).toEqual({ a: '1', b: '2' })
  expect(failureOf(() => queryOf(new URL('http://x/?a=1&b=2&a=1')))).toMatchObject({
    code: 'validation_failed',
    errors: [{ path: 'query.a', message: 'given more than once' }],
  })
})

it('explains why a key is refused', () => {
  const schema = z.record(z.string().regex(/^[a-z]+$/, 'small letters'), z.string())
  expect(failureOf(() => parse(schema, { A: 'x' }, 'body'))).toMatchObject({
    errors: [{ path: 'body.A', message: 'small letters' }],
  })
})

it('answers a small request with a small problem', () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, 1]))
  const failure = failureOf(() => parse(z.record(z.string(), z.string()), many, 'body'))
  expect(failure).toMatchObject({ message: '5000 fields are not as they should be' })
  expect(JSON.stringify(failure).length).toBeLessThan(20_000)
  const long = failureOf(() => parse(z.strictObject({}), { ['k'.repeat(100_000)]: 1 }, 'body'))
  expect(JSON.stringify(long).length).toBeLessThan(2_000)
})

/** Values that people put into the wrong header. */
const SECRET = 'aws-secret-0123456789'
const requestWith = (headers: Record<string, string>): ApiRequest => ({
  ...{ method: 'PATCH', url: '/', body: '{}', signal: new AbortController().signal },
  headers,
})

it('does not quote an If-Match that is not a version', () => {
  const failure = failureOf(() => ifMatchOf(ROUTES.putTemplate, requestWith({ 'if-match': SECRET })))
  expect(failure).toMatchObject({ code: 'validation_failed', errors: [{ path: 'headers.if-match' }] })
  expect(String(failure)).not.toContain(SECRET)
})

it.each([
  ['none', '', 'the body came as nothing;'],
  ['one', 'text/plain', 'the body came as text/plain;'],
  ['a type with a parameter', 'text/html; charset=utf-8', 'the body came as text/html;'],
  ['another text', SECRET, 'the body came as something else;'],
  ['endless', `text/${'x'.repeat(10_000)}`, 'the body came as something else;'],
])('quotes the content type only where it is one: it is %s', (_name, type, words) => {
  const failure = failureOf(() => jsonOf(ROUTES.putTemplate, requestWith({ 'content-type': type })))
  expect(failure).toMatchObject({ code: 'unsupported_media_type', message: expect.stringContaining(words) })
})
