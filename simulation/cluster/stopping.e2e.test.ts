import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from './failover-run.ts'
import { type CuttableProxy, startCuttableProxy } from './processes/cuttable-proxy.ts'
import { openProcessEnvironment, type ProcessEnvironment } from './processes/process-environment.ts'
import { type ServiceProcess, startEmbedded, startSimulator } from './processes/service-process.ts'

const LIMIT_MS = 60_000
/** Longer than any test, so that a process that ends earlier has not waited for it. */
const VERY_LONG_SECONDS = '100'

let etcd: EtcdServer
let environment: ProcessEnvironment
let api: ServiceProcess
let token: string
const folder = mkdtempSync(join(tmpdir(), 'lcm-stopping-'))

beforeAll(async () => {
  etcd = await startEtcd()
  environment = openProcessEnvironment({ etcd: etcd.endpoints, store: home => `sqlite:${join(home, 'lcm.sqlite')}` })
  api = await startApi('0')
  const body = JSON.stringify({ name: 'wc', role: 'controller', service: 'worker-controller' })
  token = Object(await (await asAdmin(api, '/api/v1/tokens', { method: 'POST', body })).json()).secret
}, LIMIT_MS)
afterAll(async () => {
  await environment.close()
  await etcd.close()
  rmSync(folder, { recursive: true, force: true })
}, LIMIT_MS)

const startApi = (stopDelay: string, name = 'lcm') =>
  environment.start(name, ['control-plane-api', '--port', '0'], {
    ...environment.apiEnv,
    LCM_STORE: `sqlite:${join(environment.folder, name)}`,
    LCM_STOP_DELAY: stopDelay,
  })

const asAdmin = ({ url }: ServiceProcess, path: string, init: RequestInit = {}, secret = environment.adminToken) =>
  fetch(url + path, { ...init, headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' } })

const readyOf = async ({ url }: ServiceProcess) => {
  const answer = await fetch(`${url}/ready`)
  return { status: answer.status, body: await answer.json() }
}
const ENDING = { status: 503, body: { ready: false, waits_for: expect.stringContaining('asked to end') } }
const untilReady = (one: ServiceProcess) =>
  eventually('readiness', async () => ((await readyOf(one)).status === 200 ? true : null), 50)
const untilEnding = (one: ServiceProcess) =>
  eventually('a refusal', async () => ((await readyOf(one)).status === 503 ? true : null))

describe('an API that gets SIGTERM', { timeout: LIMIT_MS }, () => {
  it('is not ready at once, serves during its delay, ends event streams, and exits with 0', async () => {
    const leaving = await startApi('2', 'leaving')
    const listening = (await asAdmin(leaving, '/api/v1/events')).text()
    expect(await readyOf(leaving)).toEqual({ status: 200, body: { ready: true } })
    leaving.signal('SIGTERM')
    await untilEnding(leaving)
    expect(await readyOf(leaving)).toEqual(ENDING)
    expect((await fetch(`${leaving.url}/health`)).status).toBe(200)
    const body = JSON.stringify({ template_name: 'metal', name: 'last' })
    const late = await asAdmin(leaving, '/api/v1/workers', { method: 'POST', body })
    expect([late.status, late.headers.get('connection')]).toEqual([201, 'close'])
    const received = await listening
    expect(received).toContain('"worker.created"')
    expect(received).toMatch(/\nretry: \d+\n\n$/)
    expect(await leaving.exited).toBe(0)
  })

  it('ends without waiting when it gets SIGTERM again', async () => {
    const leaving = await startApi(VERY_LONG_SECONDS, 'hurried')
    leaving.signal('SIGTERM')
    await untilEnding(leaving)
    leaving.signal('SIGTERM')
    expect(await leaving.exited).toBe(0)
  })
})

describe('a controller that gets SIGTERM during a reconcile', { timeout: LIMIT_MS }, () => {
  let cloud: ServiceProcess
  let proxy: CuttableProxy
  let leader: ServiceProcess
  let standby: ServiceProcess
  beforeAll(async () => {
    cloud = await startSimulator(600)
    proxy = await startCuttableProxy(new URL(cloud.url).host)
    const base = { service: 'worker-controller', token, api: api.url, cloud: `http://${proxy.endpoint}` } as const
    leader = await environment.startController('first', base)
    await untilLeads(leader)
    standby = await environment.startController('second', base)
    await untilReady(standby)
  }, LIMIT_MS)
  afterAll(async () => {
    proxy.close()
    cloud.signal('SIGTERM')
    await cloud.exited
  })

  const isLeader = async ({ url }: ServiceProcess) => Object(await (await fetch(`${url}/health`)).json()).is_leader
  const untilLeads = (one: ServiceProcess) =>
    eventually('leadership', async () => ((await isLeader(one)) ? true : null), 50)
  const active = async (one: ServiceProcess): Promise<number> => {
    const text = await (await asAdmin(one, '/metrics')).text()
    return Number(/^worker_controller_active_reconciles (\d+)/m.exec(text)?.[1] ?? Number.NaN)
  }
  /** Starts a reconcile that cannot end while the cloud does not respond. */
  async function untilBusy(name: string) {
    proxy.shut()
    const body = JSON.stringify({ template_name: 'metal', name })
    expect((await asAdmin(api, '/api/v1/workers', { method: 'POST', body })).status).toBe(201)
    await eventually('work', async () => ((await active(leader)) > 0 ? true : null), 50)
  }

  it('finishes it, leads until then, and exits with 0', async () => {
    await untilBusy('one')
    leader.signal('SIGTERM')
    await untilEnding(leader)
    expect(await readyOf(leader)).toEqual(ENDING)
    expect([await isLeader(leader), await active(leader), await isLeader(standby)]).toEqual([true, 1, false])
    proxy.open()
    expect(await leader.exited).toBe(0)
    await untilLeads(standby)
    leader = standby
  })

  it('aborts it when it gets SIGTERM again, and still resigns', async () => {
    await untilBusy('two')
    leader.signal('SIGTERM')
    await untilEnding(leader)
    const askedAt = systemClock.monotonic()
    leader.signal('SIGTERM')
    expect(await leader.exited).toBe(0)
    expect(systemClock.monotonic() - askedAt).toBeLessThan(10_000)
    proxy.open()
    const next = await environment.startController('third', {
      service: 'worker-controller',
      token,
      api: api.url,
      cloud: cloud.url,
    })
    const since = systemClock.monotonic()
    await untilLeads(next)
    // No lease had to expire.
    expect(systemClock.monotonic() - since).toBeLessThan(10_000)
  })
})

it('lcm up ends event streams, exits with 0, and keeps its data', {
  timeout: LIMIT_MS,
}, async () => {
  const first = await startEmbedded(folder)
  const secret = readFileSync(join(folder, 'admin-token'), 'utf8').trim()
  expect(await readyOf(first)).toEqual({ status: 200, body: { ready: true } })
  const listening = (await asAdmin(first, '/api/v1/events', {}, secret)).text()
  const body = JSON.stringify({ template_name: 'metal', name: 'last' })
  const { id } = Object(await (await asAdmin(first, '/api/v1/workers', { method: 'POST', body }, secret)).json())
  first.signal('SIGTERM')
  expect(await first.exited).toBe(0)
  expect(await listening).toMatch(/\nretry: \d+\n\n$/)
  const second = await startEmbedded(folder)
  expect((await asAdmin(second, `/api/v1/workers/${id}`, {}, secret)).status).toBe(200)
  second.signal('SIGTERM')
  expect(await second.exited).toBe(0)
})
