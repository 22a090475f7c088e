import { describe, expect, it } from 'vitest'
import type { Parameter } from '../openapi/document-types.ts'
import { type CurlSubject, curlOf, pathOf, quoted } from './curl-examples.ts'

const subject = (parts: Partial<CurlSubject> = {}): CurlSubject => ({ parameters: [], ...parts })
const body = (example: unknown): Pick<CurlSubject, 'requestBody'> => ({
  requestBody: { description: '', required: true, content: { 'application/json': { schema: {}, example } } },
})
const parameter = (name: string, where: Parameter['in'], example: unknown, required = true): Parameter => ({
  name,
  in: where,
  required,
  schema: {},
  example,
})
const ADMIN = '-H "Authorization: Bearer $(cat .lcm/admin-token)"'
const AT = 'http://localhost:8080/api/v1'

describe('a command', () => {
  it.each<[string, string, string]>([
    ['GET', '/workers', `curl ${AT}/workers \\\n  ${ADMIN}`],
    ['DELETE', '/workers', `curl -X DELETE ${AT}/workers \\\n  ${ADMIN}`],
    ['POST', '/login-links', `curl -X POST ${AT}/login-links \\\n  ${ADMIN}`],
  ])('for %s %s', (method, path, expected) => {
    expect(curlOf({ method: method as 'GET', path }, subject())).toBe(expected)
  })

  it('quotes a body for the shell', () => {
    const command = curlOf({ method: 'POST', path: '/workers' }, subject(body({ name: "it's" })))
    expect(command).toBe(
      `curl ${AT}/workers \\\n  ${ADMIN} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"name":"it'\\''s"}'`,
    )
    expect(curlOf({ method: 'PUT', path: '/x' }, subject(body({ text: 'x'.repeat(80) })))).toMatch(/-d '\{\n {2}"text"/)
  })

  it('sends required headers only', () => {
    const parameters = [parameter('If-Match', 'header', '"4"'), parameter('Idempotency-Key', 'header', 'k', false)]
    const command = curlOf({ method: 'PATCH', path: '/x' }, subject({ parameters }))
    expect(command).toContain(`-H 'If-Match: "4"'`)
    expect(command).not.toContain('Idempotency-Key')
  })

  it('uses the token of the allowed caller', () => {
    expect(curlOf({ method: 'GET', path: '/x' }, subject({ security: [] }))).not.toContain('Authorization')
    expect(curlOf({ method: 'GET', path: '/x' }, subject({ 'x-lcm-service': 'any' }))).toContain('$LCM_SERVICE_TOKEN')
    const both = { 'x-lcm-roles': ['admin', 'controller'], 'x-lcm-service': 'lablet-controller' } as const
    expect(curlOf({ method: 'GET', path: '/x' }, subject(both))).toContain('admin-token')
  })

  it('does not buffer streams, and writes files to disk', () => {
    expect(curlOf({ method: 'GET', path: '/x', stream: true }, subject())).toMatch(/^curl -N /)
    expect(curlOf({ method: 'POST', path: '/x', file: 'application/zip' }, subject())).toContain('-o download')
  })
})

it('fills a path from the examples, with required query parameters only', () => {
  const parameters = [
    parameter('id', 'path', 'a/b'),
    parameter('q', 'query', 'x y'),
    parameter('limit', 'query', 5, false),
  ]
  expect(pathOf('/workers/{id}/{other}', parameters)).toBe('/api/v1/workers/a%2Fb/other?q=x%20y')
})

it.each([
  ['plain-text/1.0', 'plain-text/1.0'],
  ['a b', "'a b'"],
  ["it's $HOME", "'it'\\''s $HOME'"],
])('quotes %s', (text, expected) => {
  expect(quoted(text)).toBe(expected)
})
