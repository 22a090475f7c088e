import { openApi } from '@lcm/contract/openapi/document'
import { ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { textReason } from '@lcm/domain/reason'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { StoreError } from '@lcm/store/store'
import { aControlPlane, METAL } from '@lcm/testkit/a-control-plane'
import { beforeEach, describe, expect, it } from 'vitest'
import { interruptibleStore } from '../testing/interruptible-store.ts'

let plane: ReturnType<typeof aControlPlane>
beforeEach(() => {
  plane = aControlPlane()
})

const pathOf = (route: RouteSpec) => `/api/v1${route.path.replaceAll(/\{\w+\}/g, 'x')}`

describe('unauthenticated callers', () => {
  for (const [name, route] of Object.entries<RouteSpec>(ROUTES)) {
    it(`${name} refuses unauthenticated callers`, async () => {
      for (const headers of [
        { authorization: 'Bearer wrong' },
        { authorization: 'Basic YTpi' },
        { authorization: '' },
      ]) {
        expect(await plane.send(route.method, pathOf(route), { headers })).toMatchObject({
          status: 401,
          json: { code: 'unauthenticated' },
        })
      }
    })
  }
})

it.each([
  ['wrong', 401, 'unauthenticated'],
  ['user', 403, 'forbidden'],
  ['operator', 400, 'malformed_json'],
])('reads the body last: as %s', async (token, status, code) => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await plane.send('POST', 'workers', { headers, body: '{"a":[[[' })
  expect(answer).toMatchObject({ status, json: { code } })
})

describe('a store error', () => {
  it.each([
    [{}, 'the store does not answer; try again in a moment'],
    [{ advice: 'the disk is full' }, 'the disk is full'],
  ])('is answered with advice, never with the driver’s message: %j', async (options, detail) => {
    const store = interruptibleStore(openSqliteStore(':memory:'))
    const run = () => {
      throw new StoreError('SECRET in /some/folder', options)
    }
    store.interrupt({ kind: 'template', write: 'insert', when: 'before', run })
    const answer = await aControlPlane({ store }).send('POST', 'worker-templates', { json: METAL })
    expect(answer).toMatchObject({ status: 503, json: { code: 'store_unavailable', detail } })
  })
})

describe('bad requests', () => {
  it.each([
    ['{"template_name":', 'application/json', 400, 'malformed_json'],
    ['not json', 'application/json', 400, 'malformed_json'],
    ['[]', 'application/json', 400, 'validation_failed'],
    ['null', 'application/json', 400, 'validation_failed'],
    ['{}', 'text/plain', 415, 'unsupported_media_type'],
    [`"${'x'.repeat(1024 * 1024)}"`, 'application/json', 413, 'body_too_large'],
  ])('are refused with a clear problem: %.20s as %s', async (body, type, status, code) => {
    const answer = await plane.send('POST', 'workers', { body, headers: { 'content-type': type } })
    expect(answer).toMatchObject({ status, json: { status, code, instance: '/api/v1/workers' } })
  })

  it.each([
    ['GET', '/api/v1/nothing', 404, 'not_found'],
    ['GET', '/api/v1/', 404, 'not_found'],
    ['GET', '/elsewhere', 404, 'not_found'],
    ['GET', '//', 404, 'not_found'],
    ['GET', '/api/v1/workers/%ff', 404, 'not_found'],
    ['PUT', '/api/v1/workers', 405, 'method_not_allowed'],
    ['POST', '/health', 405, 'method_not_allowed'],
    ['GET', '/api/v1/workers/w-missing', 404, 'not_found'],
  ])('%s %s', async (method, path, status, code) => {
    expect(await plane.send(method, path)).toMatchObject({ status, json: { code } })
  })

  it.each([
    ['PUT', '/api/v1/workers', 'GET, POST'],
    ['GET', '/api/v1/workers/cleanup', 'POST'],
    ['OPTIONS', '/api/v1/workers/imports', 'POST'],
    ['POST', '/health', 'GET, HEAD'],
    ['HEAD', '/login', 'GET, POST'],
  ])('list the allowed methods of a path: %s %s', async (method, path, allow) => {
    const answer = await plane.send(method, path)
    expect(answer).toMatchObject({ status: 405, headers: { allow } })
    expect(answer.json.detail).toContain(allow)
  })

  it('explain how to authenticate', async () => {
    const answer = await plane.send('GET', 'info', { headers: { authorization: 'Bearer wrong' } })
    expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
  })

  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('are refused when they are nested too deeply: %s', async (open, close) => {
    const body = `${open.repeat(10_000)}1${close.repeat(10_000)}`
    expect(await plane.send('POST', 'workers', { body })).toMatchObject({
      status: 400,
      json: { code: 'validation_failed' },
    })
  })

  it.each(['0x10', '1e1', '-1', '1.5', '9'.repeat(400), ''])('refuse %s as an epoch', async epoch => {
    const worker = await plane.create()
    const answer = await plane.send('PATCH', `workers/${worker.id}/status`, {
      as: 'controller',
      headers: { 'if-match': '"1"', 'lcm-epoch': epoch },
      json: { changes: {}, decision: { action: 'a', because: textReason('b') } },
    })
    expect(answer).toMatchObject({ status: 428, json: { code: 'precondition_required' } })
  })

  it.each([{ cost_per_hour_usd: 1e308 }, { capacity: { ...METAL.capacity, memory_gb: 1e308 } }])(
    'include amounts that do not add up: %j',
    async amounts => {
      const answer = await plane.send('POST', 'worker-templates', { json: { ...METAL, name: 'vast', ...amounts } })
      expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
    },
  )

  it('include decisions about unknown resources', async () => {
    const decision = { id: 'd', at: '2026-01-02T03:04:05.678Z', resource: 'w-1', action: 'a', because: textReason('b') }
    const json = { epoch: 1, decisions: [decision] }
    expect((await plane.send('POST', 'decisions', { as: 'controller', json })).json.errors).toEqual([
      { path: 'body.decisions.0.resource', message: 'a resource such as worker:w-1' },
    ])
  })

  it('list every field that is wrong', async () => {
    const { json } = await plane.send('POST', 'workers', { json: { template_name: 7, name: '', tags: { a: 1 } } })
    expect(json.errors.map((error: { path: string }) => error.path).sort()).toEqual([
      'body.name',
      'body.tags.a',
      'body.template_name',
    ])
  })

  it('include an If-Match that is not a version', async () => {
    const worker = await plane.create()
    const answer = await plane.send('POST', `workers/${worker.id}/stop`, { headers: { 'if-match': 'newest' } })
    expect(answer).toMatchObject({ status: 400, json: { code: 'validation_failed' } })
  })
})

describe('health, readiness and metrics', () => {
  it('are public, except the metrics', async () => {
    const stranger = { headers: { authorization: 'Bearer unknown' } }
    expect(await plane.send('GET', '/health', stranger)).toMatchObject({ status: 200, json: { status: 'healthy' } })
    expect(await plane.send('GET', '/ready', stranger)).toMatchObject({ status: 200, json: { ready: true } })
    expect((await plane.send('GET', '/metrics', stranger)).status).toBe(401)
  })

  it('include a document that describes every route', async () => {
    const answer = await plane.send('GET', '/api/v1/openapi.json')
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(openApi('0.0.0'))))
    const operations = Object.values<Record<string, { operationId: string }>>(answer.json.paths).flatMap(path =>
      Object.values(path),
    )
    expect(operations.map(operation => operation.operationId).sort()).toEqual(Object.keys(ROUTES).sort())
  })
})

it('returns the actor', async () => {
  const { json } = await plane.send('GET', 'info', { as: 'operator' })
  expect(json).toEqual({
    version: '0.0.0',
    profile: 'embedded',
    cloud: 'sim',
    regions: ['us-east-1', 'eu-west-1'],
    sim_control: null,
    actor: { id: 'operator', name: 'operator', role: 'operator' },
  })
})
