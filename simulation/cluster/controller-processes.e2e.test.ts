import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { toInstant } from '@lcm/domain/instant'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CONTROLLERS, type ControllerCluster, inTime, openControllerCluster } from './clusters/controller-cluster.ts'
import { enroll, isRunning, type Learner } from './load/learner.ts'
import type { ServiceProcess } from './processes/service-process.ts'
import { type SingleApi, startSingleApi } from './processes/single-api.ts'
import { expectAccess, sessionStories } from './session-stories.ts'

const LEASE_TTL_SECONDS = 5
const LIMIT_MS = 120_000

let etcd: EtcdServer
let api: SingleApi
let cluster: ControllerCluster
let learner: Learner
beforeAll(async () => {
  etcd = await startEtcd()
  api = await startSingleApi({ etcd: etcd.endpoints, leaseTtlSeconds: LEASE_TTL_SECONDS })
  cluster = await openControllerCluster(api.environment, api.url)
  learner = await enroll(cluster)
}, LIMIT_MS)
afterAll(async () => {
  await cluster.close()
  await api.environment.close()
  await etcd.close()
}, LIMIT_MS)

describe('two of each controller on etcd with an API on SQLite', () => {
  sessionStories(
    () => ({ cluster, learner }),
    () => api.restart('SIGKILL'),
  )
})

describe('the own port of a controller', { timeout: LIMIT_MS }, () => {
  const ADMIN_ROUTES = ['GET /admin/stats', 'GET /admin/plan', 'GET /admin/leader-status']
  let running = ''
  let later = ''
  beforeAll(async () => {
    running = (await learner.book()).id
    const start = toInstant(systemClock.now() + 2 * 60 * 60_000)
    later = (await cluster.client.call('createSession', { body: { definition: 'two-routers', start } })).id
    await learner.until(running, 'start', isRunning)
  }, LIMIT_MS)
  afterAll(() => Promise.all([running, later].map(learner.cancel)), LIMIT_MS)

  const SHOWN = [
    {
      service: 'resource-scheduler',
      managed: { sessions_managed: 1 },
      planned: () => ({ resource: `session:${later}`, action: 'place', due_at: expect.any(String) }),
      stats: { assigned_count: expect.any(Number), waiting_count: 0 },
      metrics: ['resource_scheduler_managed_sessions 1', 'resource_scheduler_assigned_total'],
    },
    {
      service: 'lablet-controller',
      managed: { sessions_managed: 2, labs_managed: 1 },
      planned: () => ({ resource: `session:${running}`, due_at: expect.any(String) }),
      stats: { labs_imported_count: expect.any(Number), sessions_ready_count: expect.any(Number) },
      metrics: ['lablet_controller_labs_imported_total', 'lablet_controller_reconcile_total'],
    },
  ] as const

  const healthOf = async (one: ServiceProcess) => (await cluster.ask(one, 'GET /health', null)).body
  const untilItManages = (one: ServiceProcess, managed: object) =>
    expect.poll(() => healthOf(one), { interval: 50, timeout: 30_000 }).toMatchObject(managed)

  it.each(SHOWN)(
    'of the $service returns its health and the number of managed resources',
    async ({ service, managed }) => {
      const [leader, standby] = [await cluster.leaderOf(service), await cluster.standbyOf(service)]
      // Numbers are updated by each reconcile, and may be old.
      await cluster.ask(leader, 'POST /admin/trigger-reconcile')
      await untilItManages(leader, managed)
      const sound = { status: 'healthy', problems: [] }
      const led = { ...sound, is_leader: true, instance_id: leader.name, last_reconciliation: expect.any(String) }
      expect(await healthOf(leader)).toMatchObject(led)
      const nothing = Object.fromEntries(Object.keys(managed).map(name => [name, 0]))
      const health = await cluster.ask(standby, 'GET /health', null)
      expect(health).toMatchObject({
        status: 200,
        body: { ...sound, ...nothing, is_leader: false, instance_id: standby.name },
      })
      for (const one of [leader, standby]) {
        expect(await cluster.ask(one, 'GET /ready', null)).toMatchObject({ status: 200, body: { ready: true } })
        expect(await cluster.ask(one, 'GET /info', null)).toMatchObject({ status: 200, body: { service } })
      }
    },
  )

  it.each(SHOWN)('of the $service returns metrics and the plan, by role', async shown => {
    const { service, planned, stats, metrics } = shown
    const leader = await cluster.leaderOf(service)
    const operator = await cluster.client.call('createToken', { body: { name: 'op', role: 'operator' } })
    expect(await cluster.ask(leader, 'GET /metrics', null)).toMatchObject({ status: 401 })
    for (const line of metrics)
      expect((await cluster.ask(leader, 'GET /metrics', operator.secret)).body).toContain(line)
    for (const route of [...ADMIN_ROUTES, 'POST /admin/trigger-reconcile', 'POST /admin/resign-leadership']) {
      expect(await cluster.ask(leader, route, null)).toMatchObject({
        status: 401,
        type: expect.stringContaining('problem+json'),
      })
      expect(await cluster.ask(leader, route, operator.secret)).toMatchObject({
        status: 403,
        type: expect.stringContaining('problem+json'),
      })
    }
    expect(await cluster.ask(leader, 'GET /admin/stats')).toMatchObject({ status: 200, body: stats })
    const { body: plan } = await cluster.ask(leader, 'GET /admin/plan')
    expect(plan).toMatchObject({ items: expect.arrayContaining([expect.objectContaining(planned())]) })
  })

  it.each(SHOWN)(
    'of the $service triggers a reconcile and a resignation at the leader',
    async ({ service, managed }) => {
      const [leader, standby] = [await cluster.leaderOf(service), await cluster.standbyOf(service)]
      const statusOf = async (one: ServiceProcess) => Object((await cluster.ask(one, 'GET /admin/leader-status')).body)
      const before = await statusOf(leader)
      expect(before).toMatchObject({ state: 'LEADER', leader_id: leader.name, since: expect.any(String) })
      expect(await statusOf(standby)).toEqual({ ...before, state: expect.stringMatching(/STANDBY|CAMPAIGNING/) })

      const last = async () => Object((await cluster.ask(leader, 'GET /health')).body).last_reconciliation
      const reconciledAt = await last()
      expect(await cluster.ask(leader, 'POST /admin/trigger-reconcile')).toMatchObject({ status: 202 })
      await inTime('another reconcile', async () => ((await last()) > reconciledAt ? true : null))
      expect(await cluster.ask(standby, 'POST /admin/trigger-reconcile')).toMatchObject({
        status: 409,
        type: expect.stringContaining('problem+json'),
        body: { code: 'not_leader' },
      })

      expect(await cluster.ask(leader, 'POST /admin/resign-leadership')).toMatchObject({ status: 202 })
      const next = await cluster.leaderOf(service)
      expect(next.name).toBe(standby.name)
      expect((await statusOf(next)).term).toBeGreaterThan(before.term)
      await untilItManages(next, managed)
      await untilItManages(leader, Object.fromEntries(Object.keys(managed).map(name => [name, 0])))
    },
  )
})

describe('SIGTERM', { timeout: LIMIT_MS }, () => {
  it('of the API and of the leader of each controller does not interrupt a session that is being started', async () => {
    const { id } = await learner.book()
    await learner.until(id, 'making', ({ status }) => status === 'INSTANTIATING')
    const handedOver = CONTROLLERS.map(async service => {
      expect(await cluster.end(await cluster.leaderOf(service), 'SIGTERM')).toBe(0)
      return cluster.startStandby(service)
    })
    await Promise.all(handedOver)
    expect(await api.restart('SIGTERM')).toBe(0)
    await expectAccess(await learner.until(id, 'start', isRunning))
    expect(await learner.labsOf(id)).toBe(1)
    await learner.cancel(id)
  })
})
