import { systemClock } from '@lcm/runtime/clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { type EtcdAdmin, etcdAdmin } from '../../testing/etcd-admin.ts'
import { type EtcdServer, startEtcd } from '../../testing/etcd-server.ts'
import { eventually } from '../../testing/eventually.ts'
import { testClients } from '../../testing/test-clients.ts'
import { openClient } from '../client/client.ts'
import { parseEndpoint } from '../client/endpoint.ts'
import { healthTracker } from '../client/health-tracker.ts'

const KEY = '/lcm/worker-controller/leader'

let etcd: EtcdServer
let admin: EtcdAdmin
let clients: ReturnType<typeof testClients>

beforeAll(async () => {
  etcd = await startEtcd()
  admin = etcdAdmin(etcd.endpoints[0] ?? '')
})
afterAll(async () => {
  admin.close()
  await etcd.close()
})
beforeEach(async () => {
  await admin.wipe()
  clients = testClients(() => etcd.endpoints)
})
afterEach(() => clients.close())

/** A raw client, to inspect what elections leave in etcd. */
function rawClient() {
  const logger = recordingLogger()
  const [name = ''] = etcd.endpoints
  const book = healthTracker([name], systemClock, logger)
  return openClient({
    endpoints: [parseEndpoint(name, false)],
    clock: systemClock,
    logger,
    health: book,
    probeKey: '/lcm/',
  })
}

async function leaderKey() {
  const client = rawClient()
  try {
    return (await client.get(KEY)).state
  } finally {
    client.close()
  }
}

it('records in the key who leads, since when and where its process can be watched', async () => {
  const a = clients.contend('a', 'worker-controller', clients.connect({ liveness: { host: '127.0.0.1' } }))
  const { leadership } = await a.leads()
  const state = await leaderKey()
  expect(JSON.parse(state?.value ?? '')).toEqual({
    instance_id: 'a',
    host: expect.any(String),
    since: a.election.status().since,
    liveness_address: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
  })
  expect(leadership.epoch).toBe(state?.createRevision)
})

it('keeps two elections apart', async () => {
  const one = clients.contend('a', 'worker-controller')
  const other = clients.contend('b', 'resource-scheduler')
  const terms = await Promise.all([one.leads(), other.leads()])
  expect(new Set(terms.map(({ leadership }) => leadership.epoch)).size).toBe(2)
})

it('hands over at once when the leader stops cleanly, whatever the lease', async () => {
  const a = clients.contend('a', 'worker-controller', clients.connect({ leaseTtlMs: 60_000 }))
  await a.leads()
  const b = clients.contend('b', 'worker-controller', clients.connect({ leaseTtlMs: 60_000 }))
  await eventually('b standing by', () => b.election.status().leader_id === 'a')
  await a.election.resign()
  expect((await b.leads()).tookMs).toBeLessThan(10_000)
})

it('leaves no lease behind of candidates that lost or stopped', async () => {
  const contenders = ['a', 'b', 'c', 'd'].map(id => clients.contend(id))
  await eventually('one leading', () => contenders.some(({ leadership }) => leadership?.isHeld()))
  await eventually('the leases of the losers being released', async () => (await admin.leases()).length === 1)
  await clients.close()
  expect(await admin.leases()).toEqual([])
})

it('treats a time to live of 0 as a lost lease', async () => {
  const client = rawClient()
  const options = { signal: new AbortController().signal, slowAfterMs: 1_000 }
  const { id } = await client.grantLease(2_000)
  expect(await client.keepAlive(id, options)).toBe(2_000)
  await client.revokeLease(id)
  expect(await client.keepAlive(id, options)).toBe(0)
  await client.revokeLease(id)
  client.close()
})

it('ends leadership the moment its key is deleted, and campaigns again', async () => {
  const a = clients.contend('a', 'worker-controller', clients.connect({ leaseTtlMs: 60_000 }))
  const { leadership } = await a.leads()
  await admin.delete(KEY)
  const { tookMs } = await eventually('the loss', () => leadership.signal.aborted)
  expect(tookMs).toBeLessThan(10_000)
  expect(leadership.isHeld()).toBe(false)
  expect((await a.leads()).leadership.epoch).toBeGreaterThan(leadership.epoch)
})

it('ends leadership the moment its key is replaced, and stands by for the new leader', async () => {
  const a = clients.contend('a', 'worker-controller', clients.connect({ leaseTtlMs: 60_000 }))
  const { leadership } = await a.leads()
  await admin.put(KEY, JSON.stringify({ instance_id: 'usurper', host: 'elsewhere', since: '2026-01-01T00:00:00Z' }))
  await eventually('the loss', () => leadership.signal.aborted)
  await eventually('standing by', () => a.election.status().leader_id === 'usurper')
  await admin.delete(KEY)
  await a.leads()
})

it("treats an unknown key with its own id as another leader's, until its lease is over", async () => {
  const before = clients.contend('a', 'worker-controller', clients.connect({ leaseTtlMs: 60_000 }))
  const { leadership } = await before.leads()
  const after = clients.contend('a')
  await eventually('standing by', () => after.election.status().leader_id === 'a')
  expect([after.election.status().state, leadership.isHeld()]).toEqual(['STANDBY', true])
  await admin.revoke((await leaderKey())?.lease ?? 0n)
  await eventually('the loss', () => leadership.signal.aborted)
  await eventually('one of them leading', () => [before, after].some(({ leadership: newest }) => newest?.isHeld()))
})

it("treats an unreadable key as an unknown leader's", async () => {
  await admin.put(KEY, 'nonsense')
  const a = clients.contend('a')
  await eventually('standing by', () => a.election.status().term !== null)
  expect(a.election.status()).toMatchObject({ state: 'STANDBY', leader_id: null, since: null })
  await admin.delete(KEY)
  await a.leads()
})

it('lets a standby that joins later lead after the one before it', async () => {
  const a = clients.contend('a')
  const first = await a.leads()
  const b = clients.contend('b')
  await eventually('b standing by', () => b.election.status().leader_id === 'a')
  await a.client.close()
  // Not before: the fastest candidate wins a free election.
  await b.leads()
  const c = clients.contend('c')
  await eventually('c standing by', () => c.election.status().leader_id === 'b')
  await b.client.close()
  const third = await c.leads()
  expect(third.leadership.epoch).toBeGreaterThan(first.leadership.epoch)
})

it('waits when etcd is down at the start, reports it, and leads when it is up', async () => {
  const away = await startEtcd()
  onTestFinished(away.close)
  const [member] = away.members
  await member?.kill()
  const a = clients.contend('a', 'worker-controller', clients.connect({}, away.endpoints))
  await eventually('unhealthy', () => a.client.health().state === 'unhealthy')
  expect(a.client.health()).toMatchObject({ problem: { code: 'etcd_unreachable' }, endpoints: [{ reachable: false }] })
  expect(a.client.logger.messages('error')[0]).toMatch(
    /^etcd at 127\.0\.0\.1:\d+ cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:\d+\); check that it runs/,
  )
  expect([a.leadership, a.election.status().state]).toEqual([undefined, 'CAMPAIGNING'])
  await member?.restart()
  await a.leads()
  await eventually('healthy', () => a.client.health().state === 'healthy')
  await a.client.close()
})

it('keeps leading over a quick restart of etcd, or leads again soon', async () => {
  const own = await startEtcd()
  onTestFinished(own.close)
  const a = clients.contend('a', 'worker-controller', clients.connect({ leaseTtlMs: 5_000 }, own.endpoints))
  const { leadership } = await a.leads()
  await own.members[0]?.restart()
  const again = await a.leads()
  expect(again.leadership.epoch).toBeGreaterThanOrEqual(leadership.epoch)
  await a.client.changeKeys.publish('/lcm/workers/w-1', { id: 'w-1', version: 1, updated_at: '' })
  await a.client.close()
})
