import { once } from 'node:events'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import { makeCertificates } from '@lcm/coordination/testing/certificates'
import { type Reason, reason, textReason } from '@lcm/domain/reason'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AdminApi } from './admin-api.ts'
import { startAdminServer } from './admin-server.ts'

let done: string[]
let leads: boolean
let waitsFor: string | null
let status: 'healthy' | 'unhealthy'
let problems: readonly Reason[]
let server: Awaited<ReturnType<typeof startAdminServer>>

const api: AdminApi = {
  service: 'worker-controller',
  version: '1.2.3',
  health: () => ({ status, is_leader: leads, instance_id: 'one', last_reconciliation: null, problems }),
  waitsFor: () => waitsFor,
  leader: () => ({ state: leads ? 'LEADER' : 'STANDBY', leader_id: 'one', term: 7, since: null }),
  metrics: async () => 'a_metric 1\n',
  stats: () => ({ stopped_count: 3 }),
  plan: () => [{ resource: 'worker:w-1', action: 'stop', because: textReason('asked for'), due_at: null }],
  trigger: () => {
    done.push('trigger')
    return leads
  },
  resign: async () => void done.push('resign'),
}
const ROLES = new Map([
  ['root', 'admin'],
  ['eve', 'operator'],
  ['joe', 'user'],
])
const roleOf = async (token: string) => ROLES.get(token) ?? null

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

beforeEach(async () => {
  done = []
  leads = true
  waitsFor = null
  status = 'healthy'
  problems = []
  server = await startAdminServer({ api, roleOf, host: '127.0.0.1', port: 0 })
})
afterEach(() => server.close())

const ask = async (path: string, token?: string, method = 'GET') => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(server.url + path, { method, headers })
  return [response.status, await response.text()] as const
}

it('shows the details of problems in /health to operators only', async () => {
  const error = 'arn:aws:iam::123456789012:role/lcm is refused'
  problems = [reason('dependency_outage', { dependency: 'EC2', since: '2026-01-01T00:00:00.000Z', error })]
  for (const token of [undefined, 'joe', 'unknown']) {
    const [code, body] = await ask('/health', token)
    expect([code, JSON.parse(body).problems[0].code]).toEqual([200, 'dependency_outage'])
    expect(body).not.toContain('arn:')
  }
  for (const token of ['eve', 'root']) expect(JSON.parse((await ask('/health', token))[1]).problems).toEqual(problems)
})

it('answers /health, /info and /ready without a token', async () => {
  expect(await ask('/health')).toEqual([
    200,
    '{"status":"healthy","is_leader":true,"instance_id":"one","last_reconciliation":null,"problems":[]}',
  ])
  status = 'unhealthy'
  expect((await ask('/health'))[0]).toBe(503)
  expect(await ask('/info')).toEqual([200, '{"service":"worker-controller","version":"1.2.3"}'])
  expect(await ask('/ready')).toEqual([200, '{"ready":true}'])
  waitsFor = 'etcd'
  expect(await ask('/ready')).toEqual([503, '{"ready":false,"waits_for":"etcd"}'])
})

it('answers HEAD requests, which load balancers send', async () => {
  expect(await ask('/health', undefined, 'HEAD')).toEqual([200, ''])
  status = 'unhealthy'
  expect(await ask('/health', undefined, 'HEAD')).toEqual([503, ''])
  expect((await ask('/metrics', undefined, 'HEAD'))[0]).toBe(401)
  expect((await ask('/admin/resign-leadership', 'root', 'HEAD'))[0]).toBe(404)
})

it('answers 503 to token holders while the API is down', async () => {
  const roleOf = () => Promise.reject(new Error('SECRET'))
  const alone = await startAdminServer({ api, roleOf, host: '127.0.0.1', port: 0 })
  const answer = await fetch(`${alone.url}/metrics`, { headers: { authorization: 'Bearer joe' } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    503,
    expect.stringContaining('application/problem+json'),
  ])
  const body = await answer.text()
  expect(body).toContain('"code":"api_unavailable"')
  expect(body).not.toContain('SECRET')
  problems = [textReason('no etcd')]
  const health = await fetch(`${alone.url}/health`, { headers: { authorization: 'Bearer root' } })
  expect([health.status, await health.text()]).toEqual([200, expect.not.stringContaining('no etcd')])
  await alone.close()
})

it('ignores the body of a request, of any type and size', async () => {
  const headers = { authorization: 'Bearer root', 'content-type': 'text/xml' }
  const url = `${server.url}/admin/trigger-reconcile`
  const { status } = await fetch(url, { method: 'POST', headers, body: '<'.repeat(3_000_000) })
  expect([status, done]).toEqual([202, ['trigger']])
})

it('answers 500 without the details of an unexpected error, and goes on', async () => {
  const broken = { ...api, stats: () => expect.fail('SECRET') }
  const failing = await startAdminServer({ api: broken, roleOf, host: '127.0.0.1', port: 0 })
  const headers = { authorization: 'Bearer root' }
  const answer = await fetch(`${failing.url}/admin/stats`, { headers })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([500, 'application/problem+json; charset=utf-8'])
  expect(await answer.text()).not.toContain('SECRET')
  expect((await fetch(`${failing.url}/health`)).status).toBe(200)
  await failing.close()
})

it('refuses a port in use', async () => {
  const port = Number(new URL(server.url).port)
  await expect(startAdminServer({ api, roleOf, host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

it('closes open connections', async () => {
  const other = await startAdminServer({ api, roleOf, host: '127.0.0.1', port: 0 })
  const idle = connect(Number(new URL(other.url).port), '127.0.0.1')
  await once(idle, 'connect')
  await other.close()
  await once(idle, 'close')
})

it.runIf(hasIpv6)('prints an IPv6 address in brackets', async () => {
  const six = await startAdminServer({ api, roleOf, host: '::1', port: 0 })
  expect(six.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
  expect((await fetch(`${six.url}/health`)).status).toBe(200)
  await six.close()
})

it('serves only metrics without a token when metrics are public', async () => {
  const roleOf = async () => {
    throw new Error('the API is away')
  }
  const open = await startAdminServer({ api, roleOf, metricsPublic: true, host: '127.0.0.1', port: 0 })
  const statusOf = async (path: string, token: string) =>
    (await fetch(open.url + path, { headers: { authorization: `Bearer ${token}` } })).status
  expect([await statusOf('/metrics', 'anybody'), await statusOf('/admin/plan', 'anybody')]).toEqual([200, 503])
  expect((await fetch(`${open.url}/metrics`)).status).toBe(200)
  expect((await fetch(`${open.url}/admin/plan`)).status).toBe(401)
  await open.close()
})

it('serves metrics to every authenticated user', async () => {
  expect((await ask('/metrics'))[0]).toBe(401)
  expect((await ask('/metrics', 'unknown-token'))[0]).toBe(401)
  expect(await ask('/metrics', 'joe')).toEqual([200, 'a_metric 1\n'])
})

it('allows only administrators to trigger, resign and read plan and stats', async () => {
  for (const path of ['/admin/trigger-reconcile', '/admin/resign-leadership']) {
    expect((await ask(path, undefined, 'POST'))[0]).toBe(401)
    expect((await ask(path, 'joe', 'POST'))[0]).toBe(403)
    expect((await ask(path, 'root', 'POST'))[0]).toBe(202)
  }
  expect(done).toEqual(['trigger', 'resign'])
  expect((await ask('/admin/leader-status', 'root'))[1]).toContain('"term":7')
  expect((await ask('/admin/stats', 'root'))[1]).toContain('"stopped_count":3')
  expect((await ask('/admin/plan', 'root'))[1]).toContain('worker:w-1')
  for (const path of ['/admin/stats', '/admin/plan']) expect((await ask(path, 'joe'))[0]).toBe(403)
})

it('refuses to trigger on a standby', async () => {
  leads = false
  expect(await ask('/admin/trigger-reconcile', 'root', 'POST')).toMatchObject([
    409,
    expect.stringContaining('not_leader'),
  ])
})

it('serves HTTPS with a certificate, which can be replaced', async () => {
  const certificates = makeCertificates()
  certificates.signServer('renewed')
  const pair = (name: string) => ({ cert: certificates.text(`${name}.crt`), key: certificates.text(`${name}.key`) })
  const secure = await startAdminServer({ api, roleOf, certificate: pair('server'), host: '127.0.0.1', port: 0 })
  const shown = async () => {
    const { hostname: host, port } = new URL(secure.url)
    const socket = connectTls({ host, port: Number(port), ca: certificates.text('ca.crt') })
    await once(socket, 'secureConnect')
    socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    const [answer] = await once(socket, 'data')
    return [socket.getPeerCertificate().subject.CN, String(answer).split('\r\n')[0]]
  }
  expect(secure.url).toMatch(/^https:/)
  expect(await shown()).toEqual(['server', 'HTTP/1.1 200 OK'])
  secure.useCertificate(pair('renewed'))
  expect(await shown()).toEqual(['renewed', 'HTTP/1.1 200 OK'])
  await secure.close()
  certificates.remove()
})
