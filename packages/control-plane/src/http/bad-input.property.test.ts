import { type ApiResponse, mayCall } from '@lcm/contract/route-spec'
import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { ROLES } from '@lcm/domain/actor'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { TOPOLOGY } from '../testing/bookable-fleet.ts'
import { namesOf, nearlyRight, oddText } from '../testing/schema-value-arbitraries.ts'

/** Per route, with another seed each. */
const RUNS = 25
const SECRET = 'zQ9-never-to-be-quoted-e5'
/** A refusal names the error and doesn't repeat a long request. */
const PROBLEM_LENGTH_MAX = 20_000

let plane: ReturnType<typeof aControlPlane>
let ids: string[]
beforeAll(async () => {
  plane = aControlPlane({ backup: async () => aFile() })
  const worker = await plane.create({ name: 'one' })
  const definition = await plane.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
  const session = await plane.send('POST', 'lablet-sessions', { json: { definition: 'bgp', duration_minutes: 30 } })
  await plane.send('PUT', 'services/worker-controller/term', { as: 'controller', json: { epoch: 1, instance_id: 'a' } })
  ids = [worker.id, definition.json.id, session.json.id, 'metal', 'worker-controller']
})

async function* aFile(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('all of it')
}

/** Node refuses other paths before the server sees them. */
const oddHeader = fc.oneof(
  oddText.filter(text => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)),
  fc.constant(SECRET),
)
/** Usually left out, so that requests get past it. */
const seldom = (right: readonly string[]) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(...right) },
    { weight: 1, arbitrary: oddHeader },
  )
const headers = fc
  .record({
    'if-match': fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom('"1"', '"2"', '*', 'W/"1"') },
      { weight: 1, arbitrary: oddHeader },
    ),
    'lcm-epoch': fc.oneof(fc.constantFrom('1', '1', '1', '0', '99'), oddHeader),
    'idempotency-key': seldom(['k', 'k', 'x'.repeat(128), 'x'.repeat(129), 'a, b']),
    'last-event-id': seldom(['1', '0', '-1', '1-1', '9'.repeat(400)]),
    'content-type': seldom([
      'application/json; charset=utf-16',
      'application/merge-patch+json',
      'text/plain',
      'a/b, c/d',
    ]),
    accept: seldom(['application/xml', 'text/event-stream', '*/*;q=9']),
    'x-request-id': seldom(['a\tb']),
    cookie: seldom([`lcm=${SECRET}`, '=;=;=', `session=${'a'.repeat(5_000)}`]),
  })
  .map(all =>
    Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  )

function callsOf(spec: RouteSpec) {
  const allowed = ROLES.filter(role =>
    mayCall({ id: role, name: role, role, service: 'worker-controller' }, spec.access),
  )
  const odds = { weight: 1, arbitrary: oddText }
  return fc.record({
    part: fc.oneof({ weight: 4, arbitrary: fc.nat(4).map(n => ids[n] ?? '') }, odds),
    query: fc.oneof(
      { weight: 3, arbitrary: fc.constant({}) },
      {
        weight: 1,
        arbitrary: fc.dictionary(fc.constantFrom('cursor', 'limit', ...namesOf(spec.query)), oddText, { maxKeys: 1 }),
      },
    ),
    text: fc.oneof(
      { weight: 9, arbitrary: nearlyRight(spec.body).map(json => JSON.stringify(json)) },
      { weight: 1, arbitrary: fc.constant(`{"token": "${SECRET}", `) },
    ),
    as: fc.constantFrom(...(allowed.length === 0 ? ROLES : allowed)),
    headers,
  })
}

/** The whole response. A stream is closed once it has started, and must then end by itself. */
async function textOf({ body, file }: ApiResponse, leave: AbortController): Promise<string> {
  if (typeof body === 'string') return body
  const parts: (string | Uint8Array)[] = []
  for await (const part of file ?? body ?? []) {
    parts.push(part)
    leave.abort()
  }
  return Buffer.concat(parts.map(part => Buffer.from(part))).toString()
}

describe.each(Object.entries<RouteSpec>(ROUTES))('%s', (_name, spec) => {
  it('never answers 5xx to any input, and quotes no secret', async () => {
    const property = fc.asyncProperty(callsOf(spec), async ({ part, query, text, as, headers }) => {
      const path = spec.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(part) || 'x')
      const search = new URLSearchParams(query)
      const leave = new AbortController()
      const answer = await plane.send(spec.method, `/api/v1${path}?${search}`, {
        as,
        headers,
        body: spec.body === undefined ? null : text,
        signal: leave.signal,
      })
      const response = await textOf(answer, leave)
      expect({ status: answer.status, response: answer.status < 500 ? '' : response }).toMatchObject({ response: '' })
      expect(`${JSON.stringify(answer.headers)} ${response}`).not.toContain(SECRET)
      if (answer.status < 400) return
      expect(answer.json).toMatchObject({ status: answer.status, code: expect.any(String) })
      expect(response.length).toBeLessThan(PROBLEM_LENGTH_MAX)
    })
    await fc.assert(property, { numRuns: RUNS })
  })
})

const paged = Object.entries<RouteSpec>(ROUTES).filter(([, { query }]) => namesOf(query).includes('cursor'))

describe.each(paged)('the cursor of %s', (_name, spec) => {
  it('leads to a page or a refusal, for any text', async () => {
    const real = fc.oneof(
      fc.nat(4).map(n => ids[n] ?? ''),
      fc
        .tuple(fc.constantFrom('2026-01-01T01:00:00.000Z', '9999-12-31T23:59:59.999Z', '-1'), oddText)
        .map(([at, id]) => `${at}~${id}`),
    )
    const cursors = fc.oneof(
      oddText,
      real,
      fc.tuple(real, fc.nat(30)).map(([whole, to]) => whole.slice(0, to)),
    )
    const property = fc.asyncProperty(cursors, async cursor => {
      const path = spec.path.replaceAll(/\{\w+\}/g, () => ids[spec.path.includes('session') ? 2 : 0] ?? '')
      const answer = await plane.send(spec.method, `/api/v1${path}?${new URLSearchParams({ cursor, limit: '1' })}`)
      expect([200, 400]).toContain(answer.status)
      if (answer.status === 200) expect(answer.json).toMatchObject({ items: expect.any(Array) })
    })
    await fc.assert(property, { numRuns: RUNS })
  })
})
