import { mayCall } from '@lcm/contract/access'
import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { ROLES } from '@lcm/domain/actor'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { TOPOLOGY } from './testing/a-course.ts'
import { aPlane } from './testing/a-plane.ts'
import { namesOf, nearlyRight, oddText } from './testing/odd-requests.ts'

/** For each route, and other ones each time. */
const RUNS = 25
const SECRET = 'zQ9-never-to-be-quoted-e5'

let plane: ReturnType<typeof aPlane>
let ids: string[]
beforeAll(async () => {
  plane = aPlane()
  const worker = await plane.create({ name: 'one' })
  const definition = await plane.send('POST', 'lablet-definitions', { json: { name: 'bgp', topology: TOPOLOGY } })
  const session = await plane.send('POST', 'lablet-sessions', { json: { definition: 'bgp', duration_minutes: 30 } })
  await plane.send('PUT', 'services/worker-controller/term', { as: 'controller', json: { epoch: 1, instance_id: 'a' } })
  ids = [worker.id, definition.json.id, session.json.id, 'metal', 'worker-controller']
})

/** The server never sees others: node refuses them. */
const oddHeader = oddText.filter(text => /^[\t\x20-\x7e]*$/.test(text))

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
    version: fc.oneof(fc.constantFrom('"1"', '"2"', '*', 'W/"1"'), oddHeader),
    epoch: fc.oneof(fc.constantFrom('1', '1', '1', '0', '99'), oddHeader),
  })
}

const routes = Object.entries<RouteSpec>(ROUTES).filter(([, { stream, file }]) => !stream && !file)

describe.each(routes)('%s', (_name, spec) => {
  it('answers whatever it is sent without a failure of its own, and quotes no broken body', async () => {
    const property = fc.asyncProperty(callsOf(spec), async ({ part, query, text, as, version, epoch }) => {
      const path = spec.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(part) || 'x')
      const asked = new URLSearchParams(query)
      const answer = await plane.send(spec.method, `/api/v1${path}?${asked}`, {
        as,
        headers: { 'if-match': version, 'lcm-epoch': epoch },
        body: spec.body === undefined ? null : text,
      })
      const said = typeof answer.body === 'string' ? answer.body : ''
      expect({ status: answer.status, said: answer.status < 500 ? '' : said }).toMatchObject({ said: '' })
      expect(said).not.toContain(SECRET)
      if (answer.status >= 400) expect(answer.json).toMatchObject({ status: answer.status, code: expect.any(String) })
    })
    await fc.assert(property, { numRuns: RUNS })
  })
})
