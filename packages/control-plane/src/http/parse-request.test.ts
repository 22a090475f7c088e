import type { ApiRequest } from '@lcm/contract/route-spec'
import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { METAL } from '@lcm/testkit/a-control-plane'
import { describe, expect, it } from 'vitest'
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

/** Values that people put into the wrong header. */
const SECRET = 'aws-secret-0123456789'
const requestWith = (headers: Record<string, string>): ApiRequest => ({
  ...{ method: 'PATCH', url: '/', body: '{}', signal: new AbortController().signal },
  headers,
})

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

it('reads thousands of query parameters', () => {
  const names = Array.from({ length: 60_000 }, (_, n) => `x${n}`)
  const url = new URL(`http://x/?${names.join('&')}`)
  expect(Object.keys(queryOf(url))).toHaveLength(names.length)
})

it('explains why a key is refused', () => {
  const schema = z.record(z.string().regex(/^[a-z]+$/, 'small letters'), z.string())
  expect(failureOf(() => parse(schema, { A: 'x' }, 'body'))).toMatchObject({
    errors: [{ path: 'body.A', message: 'small letters' }],
  })
})

describe('the shape of a body', () => {
  const asJson = (body: string): ApiRequest => ({ ...requestWith({ 'content-type': 'application/json' }), body })
  const refusalOf = (body: string, spec: RouteSpec = ROUTES.createSession) =>
    failureOf(() => jsonOf(spec, asJson(body)))
  const zeros = (count: number) => `{"a":[${'0,'.repeat(count)}`

  // None of these ends, so the parser would call each malformed: they are refused before it runs.
  it.each([
    ['a list', '[0,0,', 'body: it must be fields with values'],
    ['a list after spaces', ' \n\t[', 'body: it must be fields with values'],
    ['65 levels', '{"a":'.repeat(65), 'body: nested too deeply'],
    ['8,193 values', zeros(8_192), 'body: more than 8192 values'],
    ['8,193 fields', `{${'"a":1,'.repeat(8_192)}`, 'body: more than 8192 values'],
    ['8,193 empty lists', `{"a":[${'[],'.repeat(4_096)}`, 'body: more than 8192 values'],
  ])('is refused before the body is parsed: %s', (_name, body, message) => {
    expect(refusalOf(body)).toMatchObject({ code: 'validation_failed', message })
  })

  it.each([
    ['brackets and commas in a string', `{"reason":"${'[{,'.repeat(5_000)}"}`],
    ['escaped quotes', String.raw`{"a":"\"[[\\","b":"${'\\"['.repeat(5_000)}"}`],
    ['8,192 values', `${zeros(8_189)}0]}`],
    ['64 levels', `${'{"a":'.repeat(64)}1${'}'.repeat(64)}`],
  ])('is accepted: %s', (_name, body) => {
    expect(refusalOf(body)).toBeNull()
  })

  it('leaves what does not end to the parser', () => {
    for (const body of ['{"a', '{"a":"\\"', '"', ''.padEnd(9, ',')])
      expect(refusalOf(body)).toMatchObject({ code: 'malformed_json' })
  })

  it('may have more values in the body of a controller', () => {
    expect(refusalOf(zeros(400_000), ROUTES.discoverLabs)).toMatchObject({ code: 'malformed_json' })
  })
})

describe('the size of a body', () => {
  const sized = (spec: RouteSpec, bytes: number) =>
    failureOf(() => jsonOf(spec, { ...requestWith({ 'content-type': 'application/json' }), body: ' '.repeat(bytes) }))

  it.each([
    ['64 KiB', 'createSession', 64],
    ['128 KiB', 'createTemplate', 128],
    ['1 MiB', 'reportInstance', 1024],
    ['5 MiB', 'createDefinition', 5 * 1024],
    ['5 MiB', 'discoverLabs', 5 * 1024],
  ] as const)('is at most %s for %s', (limit, name, kib) => {
    expect(sized(ROUTES[name], kib * 1024)).toMatchObject({ code: 'malformed_json' })
    expect(sized(ROUTES[name], kib * 1024 + 1)).toMatchObject({
      code: 'body_too_large',
      message: `the body is larger than ${limit}, the limit of this path`,
    })
  })

  it('is counted in bytes', () => {
    const body = `{"a":"${'é'.repeat(33 * 1024)}"}`
    expect(failureOf(() => jsonOf(ROUTES.createSession, { ...requestWith({}), body }))).toMatchObject({
      code: 'body_too_large',
    })
  })

  it('fits the longest user data, every character of it escaped', () => {
    const user_data = '\u0001'.repeat(16_384)
    const body = JSON.stringify({ ...METAL, user_data })
    const json = jsonOf(ROUTES.createTemplate, { ...requestWith({ 'content-type': 'application/json' }), body })
    expect(parse(ROUTES.createTemplate.body, json, 'body')).toMatchObject({ user_data })
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
