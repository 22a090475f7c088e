import { ROLES } from '@lcm/domain/actor'
import { type Reason, reason } from '@lcm/domain/reason'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { type Document, type Kind, type Store, StoreError } from '@lcm/store/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { cookieOf, HOST, signIn } from '../access/testing/a-browser.ts'
import type { ControllerRequest, SimulatorRequest } from './extra-routes.ts'

let calls: { service: string; method: string; path: string; role: string | null }[]
let plane: ReturnType<typeof aControlPlane>

/** A controller in the same process, which echoes its request. */
async function answer(service: string, { method, path, roleOf }: ControllerRequest) {
  calls.push({ service, method, path, role: await roleOf() })
  if (path === '/metrics') return { status: 200, body: 'a_metric 1\n' }
  return path === '/health' ? { status: 200, body: { fine: true } } : { status: 404, body: { code: 'not_found' } }
}

beforeEach(() => {
  calls = []
  plane = aControlPlane({
    process: {
      health: () => ({ status: 'healthy' }),
      waitsFor: () => null,
      metrics: async () => '',
      controller: (service, request) => (service === 'worker-controller' ? answer(service, request) : null),
    },
  })
})

describe('a controller in the process of the API', () => {
  it('answers below its own path, with the role of the caller', async () => {
    const health = await plane.send('GET', '/services/worker-controller/health', { as: 'user' })
    expect(health).toMatchObject({ status: 200, json: { fine: true } })
    const path = '/services/worker-controller/admin/trigger-reconcile'
    await plane.send('POST', path, { headers: { authorization: 'Bearer unknown' } })
    expect(calls).toEqual([
      { service: 'worker-controller', method: 'GET', path: '/health', role: 'user' },
      { service: 'worker-controller', method: 'POST', path: '/admin/trigger-reconcile', role: null },
    ])
  })

  it('returns text where it has text, and a problem where it refuses', async () => {
    const metrics = await plane.send('GET', '/services/worker-controller/metrics')
    expect([metrics.headers['content-type'], metrics.body]).toEqual(['text/plain; version=0.0.4', 'a_metric 1\n'])
    const missing = await plane.send('GET', '/services/worker-controller/nothing')
    expect(missing.headers['content-type']).toBe('application/problem+json')
  })

  it('returns 404 when there is no such controller', async () => {
    for (const path of ['/services/lablet-controller/health', '/services/', '/services/worker-controller'])
      expect((await plane.send('GET', path)).status).toBe(404)
    expect(calls).toEqual([])
  })
})

it('has an open /health, with the details of problems for operators only', async () => {
  const error = 'arn:aws:iam::123456789012:role/lcm is refused'
  const problems = [reason('dependency_outage', { dependency: 'EC2', since: '2026-01-01T00:00:00.000Z', error })]
  // A process of several controllers also has the problems of each.
  const health = () => ({ status: 'degraded', problems, services: [{ name: 'worker-controller', problems }] })
  const degraded = aControlPlane({ process: { health, waitsFor: () => null, metrics: async () => '' } })
  const read = async (headers: Record<string, string>) =>
    (await degraded.send('GET', '/health', { headers })) as { status: number; json: { problems: Reason[] } }
  for (const authorization of ['', 'Bearer user', 'Bearer author', 'Bearer unknown']) {
    const { status, json } = await read({ authorization })
    expect([status, json.problems[0]?.code]).toEqual([200, 'dependency_outage'])
    expect(JSON.stringify(json)).not.toContain('arn:')
  }
  for (const role of ['operator', 'admin', 'worker-controller'])
    expect((await read({ authorization: `Bearer ${role}` })).json).toEqual(health())
})

it('is not ready without its store', async () => {
  const store = interruptedGets(openSqliteStore(':memory:'))
  const alone = aControlPlane({ store })
  expect((await alone.send('GET', '/ready')).status).toBe(200)
  store.isGone = true
  expect(await alone.send('GET', '/ready')).toMatchObject({
    status: 503,
    json: { ready: false, waits_for: 'the store: it does not respond' },
  })
})

it('is not ready before it can follow changes', async () => {
  const clock = manualClock()
  const changes = {
    position: () => new Promise<string>(() => undefined),
    since: never,
    onCommit: () => () => undefined,
  }
  const alone = aControlPlane({ clock, store: { ...openSqliteStore(':memory:'), changes } })
  const response = alone.send('GET', '/ready')
  await clock.advance(2_000)
  expect(await response).toMatchObject({ status: 503, json: { waits_for: 'the first list of changes from etcd' } })
})

it('reports what else it waits for', async () => {
  const process = { health: () => ({ status: 'healthy' }), waitsFor: () => 'the store', metrics: async () => '' }
  const { status, json } = await aControlPlane({ process }).send('GET', '/ready')
  expect([status, json]).toEqual([503, { ready: false, waits_for: 'the store' }])
})

const never = (): never => {
  throw new Error('not called')
}

/** A store that can become unreachable. */
function interruptedGets(store: Store): Store & { isGone: boolean } {
  const gone = {
    ...store,
    isGone: false,
    collection<T extends Document>(kind: Kind<T>) {
      const inner = store.collection(kind)
      const get = async (id: string) => {
        if (gone.isGone) throw new StoreError('gone')
        return inner.get(id)
      }
      return { ...inner, get }
    },
  }
  return gone
}

it('serves a page that explains the API, without external resources', async () => {
  const page = await plane.send('GET', '/api/docs')
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.body).toContain('id="worker_protected"')
  expect(page.body).not.toMatch(/(src|href)="https?:/)
  expect((await plane.send('GET', '/api/docs/style.css')).headers['content-type']).toBe('text/css; charset=utf-8')
  expect((await plane.send('POST', '/api/docs')).json).toMatchObject({ code: 'method_not_allowed' })
})

describe('the simulated cloud in the process of the API', () => {
  const acts: SimulatorRequest[] = []
  const simulated = () =>
    aControlPlane({
      process: {
        health: () => ({ status: 'healthy' }),
        waitsFor: () => null,
        metrics: async () => '',
        simulator(request) {
          acts.push(request)
          return { status: 409, body: { code: 'IncorrectInstanceState', message: 'no' } }
        },
      },
    })
  beforeEach(() => acts.splice(0))

  it('is controlled by admins alone', async () => {
    const plane = simulated()
    expect((await plane.send('GET', 'info', { as: 'user' })).json).toMatchObject({ sim_control: '/sim/v1' })
    const path = '/sim/v1/instances/i-1/stop?now=yes'
    const answer = await plane.send('POST', path, { json: { force: true } })
    expect(answer).toMatchObject({ status: 409, json: { code: 'IncorrectInstanceState', message: 'no' } })
    expect(acts).toEqual([{ method: 'POST', url: path, body: '{"force":true}' }])
    for (const role of ROLES.filter(each => each !== 'admin'))
      expect((await plane.send('GET', path, { as: role })).status).toBe(403)
    expect((await plane.send('GET', path, { headers: { authorization: 'Bearer unknown' } })).status).toBe(401)
    expect(acts).toHaveLength(1)
  })

  it('accepts actions of a browser only from the page itself', async () => {
    const plane = simulated()
    const host = HOST
    const cookie = cookieOf(await signIn(plane, { token: 'admin' }))
    const browser = async (method: string, origin: string) => {
      const headers = { cookie, host, origin }
      const signal = new AbortController().signal
      return (await plane.dispatch({ method, url: '/sim/v1/faults', headers, body: null, signal })).status
    }
    expect(await browser('GET', `http://${host}`)).toBe(409)
    expect(await browser('PATCH', `http://${host}`)).toBe(409)
    expect(await browser('PATCH', 'http://evil.example')).toBe(403)
    expect(acts.map(({ method }) => method)).toEqual(['GET', 'PATCH'])
  })

  it('is absent when the cloud is real', async () => {
    expect((await plane.send('GET', 'info')).json).toMatchObject({ sim_control: null })
    expect((await plane.send('GET', '/sim/v1/instances')).status).toBe(404)
  })
})
