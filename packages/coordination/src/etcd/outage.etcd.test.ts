import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ChangeHint } from '../change-keys.ts'
import { type EtcdServer, startEtcd } from '../testing/etcd-server.ts'
import { eventually } from '../testing/eventually.ts'
import { follow } from '../testing/follow-change-keys.ts'
import { openProxy } from '../testing/tcp-proxy.ts'
import { testClients } from '../testing/test-clients.ts'

let etcd: EtcdServer

beforeAll(async () => {
  etcd = await startEtcd()
})
afterAll(() => etcd.close())
type OnTestFinished = (cleanup: () => Promise<void>) => void

/** Clients with their own connection to etcd, for one test. */
async function open(onTestFinished: OnTestFinished) {
  const proxy = await openProxy(etcd.endpoints[0] ?? '', systemClock)
  const clients = testClients(() => etcd.endpoints)
  onTestFinished(async () => {
    await clients.close()
    await proxy.close()
  })
  return { proxy, clients, overProxy: () => clients.connect({}, [proxy.endpoint]) }
}

const hint = (version: number): ChangeHint => ({ id: 'w-1', version, updated_at: '' })
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

it.concurrent('loses no change when the connection breaks again and again, also before missed changes were sent', async ({
  onTestFinished,
}) => {
  const { proxy, clients, overProxy } = await open(onTestFinished)
  const follower = follow(overProxy().changeKeys, '/lcm/workers-breaks/')
  const { changeKeys } = clients.connect()
  await eventually('the list', () => follower.lists === 1)
  const count = 60
  for (const version of upTo(count)) {
    await changeKeys.publish(`/lcm/workers-breaks/w-1`, hint(version))
    await systemClock.sleep((version * 7) % 40)
    proxy.cut()
  }
  await eventually('the last change', () => follower.versions.at(-1) === count)
  follower.stop()
  expect(follower.versions).toEqual(upTo(count))
  expect(follower.breaks).toBeGreaterThan(10)
  expect(follower.lists).toBe(1)
})

it.concurrent('steps down before etcd ends the lease, and misses nothing, when the connection goes silent', async ({
  onTestFinished,
}) => {
  const { proxy, clients, overProxy } = await open(onTestFinished)
  const client = overProxy()
  const a = clients.contend('a', 'dead', client)
  const { leadership } = await a.leads()
  const b = clients.contend('b', 'dead')
  await eventually('b standing by', () => b.election.status().leader_id === 'a')
  const follower = follow(client.changeKeys, '/lcm/workers-dead/')
  await eventually('the list', () => follower.lists === 1)
  const { changeKeys } = clients.connect()
  await changeKeys.publish(`/lcm/workers-dead/w-1`, hint(1))
  await eventually('the first change', () => follower.versions.length === 1)
  proxy.swallow(true)
  const lost = eventually('the loss', () => leadership.signal.aborted).then(() => systemClock.monotonic())
  const publishing = client.changeKeys.publish('/lcm/unheard/w-1', hint(1)).then(String, error => error.code)
  await changeKeys.publish(`/lcm/workers-dead/w-1`, hint(2))
  await b.leads()
  expect(systemClock.monotonic() - (await lost)).toBeGreaterThan(0)
  expect(leadership.signal.reason).toMatchObject({ code: 'lease_ran_out' })
  expect(await publishing).toBe('etcd_slow')
  expect(client.health().problem?.code).toMatch(/^etcd_(slow|unreachable)$/)
  await eventually('the dead stream being noticed', () => follower.breaks > 0)
  proxy.swallow(false)
  await eventually('what was missed', () => follower.versions.length === 2)
  expect(follower.versions).toEqual([1, 2])
  await eventually('healthy', () => client.health().state === 'healthy')
  await eventually('a standing by', () => a.election.status().leader_id === 'b')
  follower.stop()
})

it.concurrent('has no leader while etcd is slow, reports it, and recovers by itself', async ({ onTestFinished }) => {
  const { proxy, clients, overProxy } = await open(onTestFinished)
  proxy.delayAnswers(2_500)
  const a = clients.contend('a', 'slow', overProxy())
  await eventually('unhealthy', () => a.client.health().problem?.code === 'etcd_slow')
  expect(a.client.health().problem?.advice).toContain('check its load, its disk and the network')
  await systemClock.sleep(1_000)
  expect(a.leadership).toBeUndefined()
  proxy.delayAnswers(0)
  await a.leads()
  await eventually('healthy', () => a.client.health().state === 'healthy')
})
