import { systemClock } from '@lcm/runtime/clock'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChangeHint, ChangeKeys } from '../change-keys.ts'
import { type EtcdMember, type EtcdServer, startEtcd } from '../testing/etcd-server.ts'
import { eventually } from '../testing/eventually.ts'
import { follow } from '../testing/follow-change-keys.ts'
import { type Contender, testClients } from '../testing/test-clients.ts'

let etcd: EtcdServer
let clients: ReturnType<typeof testClients>

beforeAll(async () => {
  etcd = await startEtcd({ members: 3, args: ['--heartbeat-interval', '50', '--election-timeout', '500'] })
})
afterAll(() => etcd.close())
beforeEach(() => {
  clients = testClients(() => etcd.endpoints)
})
afterEach(() => clients.close())

const others = (member: EtcdMember) => etcd.members.filter(other => other !== member)
const hint = (version: number): ChangeHint => ({ id: 'w-1', version, updated_at: '' })

/** Publishes one version after the other, retrying each; returns how many. */
async function publishing(keys: ChangeKeys, key: string, until: () => boolean): Promise<number> {
  let version = 0
  while (!until()) {
    version += 1
    await eventually('publishing', () =>
      keys.publish(key, hint(version)).then(
        () => true,
        () => false,
      ),
    )
    await systemClock.sleep(5)
  }
  return version
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

/** The leader keeps leading and followers miss nothing during `trouble`. */
async function expectUnmoved(leader: Contender, prefix: string, trouble: () => Promise<void>): Promise<void> {
  const { leadership } = await leader.leads()
  // One follower for each member, so that every member serves one.
  const followers = etcd.endpoints.map(() => follow(clients.connect().changeKeys, prefix))
  await eventually('the lists', () => followers.every(({ lists }) => lists === 1))
  let isOver = false
  const published = publishing(clients.connect().changeKeys, `${prefix}w-1`, () => isOver)
  await eventually('following', () => followers.every(({ versions }) => versions.length > 0))
  await trouble()
  isOver = true
  const count = await published
  await eventually('the last change', () => followers.every(({ versions }) => versions.at(-1) === count), 20_000)
  for (const { stop } of followers) stop()
  expect(followers.map(({ versions }) => versions)).toEqual(followers.map(() => upTo(count)))
  expect([leadership.isHeld(), leader.leadership === leadership]).toEqual([true, true])
}

it("survives a kill of etcd's leader: same leadership, no lost change", async () => {
  const a = clients.contend('a', 'one', clients.connect({ leaseTtlMs: 5_000 }))
  const killed = await etcd.leader()
  await expectUnmoved(a, '/lcm/killed/', async () => {
    await killed.kill()
    await eventually('another leader of etcd', () => answers(others(killed)))
  })
  await killed.restart()
})

it('survives a frozen member: same leadership, no lost change', async () => {
  const a = clients.contend('a', 'two', clients.connect({ leaseTtlMs: 3_000 }))
  const leader = await etcd.leader()
  const [frozen] = others(leader)
  await expectUnmoved(a, '/lcm/frozen/', async () => {
    frozen?.freeze()
    await systemClock.sleep(6_000)
  })
  frozen?.thaw()
})

it('has no leader without a majority, reports it, and recovers by itself', async () => {
  const a = clients.contend('a', 'three')
  const b = clients.contend('b', 'three')
  await eventually('one leading', () => a.leadership?.isHeld() || b.leadership?.isHeld())
  const [one, two] = etcd.members
  await Promise.all([one?.kill(), two?.kill()])
  await eventually('no leader', () => !a.leadership?.isHeld() && !b.leadership?.isHeld())
  await eventually('unhealthy', () => a.client.health().problem?.code === 'etcd_no_leader')
  expect(a.client.health().problem?.advice).toContain('check that a majority of its members run')
  await expect(a.client.changeKeys.publish('/lcm/workers/w-1', hint(1))).rejects.toMatchObject({ name: 'EtcdError' })
  await systemClock.sleep(500)
  expect([a.leadership?.isHeld(), b.leadership?.isHeld()].filter(Boolean)).toEqual([])
  await Promise.all([one?.restart(), two?.restart()])
  await eventually('one leading again', () => a.leadership?.isHeld() || b.leadership?.isHeld())
  await eventually('healthy', () => a.client.health().state === 'healthy')
})

/** Whether a majority serves writes. */
async function answers(members: readonly EtcdMember[]): Promise<boolean> {
  const client = clients.connect(
    {},
    members.map(({ endpoint }) => endpoint),
  )
  try {
    return await client.changeKeys.publish('/probe', hint(systemClock.now()))
  } catch {
    return false
  }
}
