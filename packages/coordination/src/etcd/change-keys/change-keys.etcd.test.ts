import type { WatchMessage } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChangeHint, ChangeKeys } from '../../change-keys.ts'
import { type EtcdAdmin, etcdAdmin } from '../../testing/etcd-admin.ts'
import { type EtcdServer, startEtcd } from '../../testing/etcd-server.ts'
import { eventually } from '../../testing/eventually.ts'
import { follow } from '../../testing/follow-change-keys.ts'
import { openProxy } from '../../testing/tcp-proxy.ts'
import { testClients } from '../../testing/test-clients.ts'

const PREFIX = '/lcm/workers/'

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

const hint = (id: string, version: number): ChangeHint => ({ id, version, updated_at: '2026-01-01T00:00:00Z' })
const list = (keys: ChangeKeys, prefix = PREFIX) => keys.source(prefix).list(new AbortController().signal)

/** Reads until it has `count` changes. */
async function read(keys: ChangeKeys, after: number, count: number): Promise<WatchMessage<ChangeHint>[]> {
  const stop = new AbortController()
  const changes: WatchMessage<ChangeHint>[] = []
  for await (const message of keys.source(PREFIX).watch(after, stop.signal)) {
    if (message.type !== 'progress') changes.push(message)
    if (changes.length === count) stop.abort()
  }
  return changes
}

it('stores hints as readable JSON, with no other fields', async () => {
  const { changeKeys } = clients.connect()
  const given = { ...hint('w-1', 3), status: 'RUNNING', desired_status: 'STOPPED', token: 'secret' }
  await changeKeys.publish(`${PREFIX}w-1`, given)
  const { token: _, ...expected } = given
  expect((await list(changeKeys)).entries[0]?.hint).toEqual(expected)
})

it("publishes with one call after its own write, and with two after another writer's", async () => {
  const [one, other] = [clients.connect().changeKeys, clients.connect().changeKeys]
  const key = `${PREFIX}w-1`
  await one.publish(key, hint('w-1', 1))
  await other.publish(key, hint('w-1', 2))
  expect(await one.publish(key, hint('w-1', 2))).toBe(false)
  expect(await one.publish(key, hint('w-1', 3))).toBe(true)
  await other.remove(key, 4)
  expect(await one.publish(key, hint('w-1', 5))).toBe(true)
  expect((await list(one)).entries).toMatchObject([{ hint: { version: 5 } }])
})

it('follows 10,000 keys that change at once, and lists them in pages at one revision', async () => {
  const { changeKeys } = clients.connect()
  const follower = follow(clients.connect().changeKeys, PREFIX)
  await eventually('the list', () => follower.lists === 1)
  const ids = Array.from({ length: 10_000 }, (_, index) => `w-${index}`)
  const lanes = Array.from({ length: 64 }, (_, lane) => ids.filter((_, index) => index % 64 === lane))
  const publishLane = async (lane: readonly string[]) => {
    for (const id of lane) await changeKeys.publish(PREFIX + id, hint(id, 1))
  }
  await Promise.all(lanes.map(publishLane))
  const { entries, revision } = await list(changeKeys)
  expect(new Set(entries.map(({ key }) => key))).toEqual(new Set(ids.map(id => PREFIX + id)))
  expect(Math.max(...entries.map(entry => entry.revision))).toBeLessThanOrEqual(revision)
  await eventually('all changes', () => follower.versions.length === ids.length)
  expect([follower.breaks, follower.lists]).toEqual([0, 1])
  follower.stop()
})

it('lists again when the history was compacted while the watcher was away', async () => {
  const proxy = await openProxy(etcd.endpoints[0] ?? '', systemClock)
  const follower = follow(clients.connect({}, [proxy.endpoint]).changeKeys, PREFIX)
  const { changeKeys } = clients.connect()
  await eventually('the list', () => follower.lists === 1)
  proxy.swallow(true)
  proxy.cut()
  for (const version of [1, 2, 3]) await changeKeys.publish(`${PREFIX}w-1`, hint('w-1', version))
  await admin.compact()
  proxy.swallow(false)
  await eventually('a new list', () => follower.lists === 2)
  await changeKeys.publish(`${PREFIX}w-1`, hint('w-1', 4))
  await eventually('the next change', () => follower.versions.at(-1) === 4)
  follower.stop()
  await proxy.close()
})

it('reassembles fragmented responses, also in the middle of a revision', async () => {
  const { changeKeys } = clients.connect()
  const { revision } = await list(changeKeys)
  const value = JSON.stringify({ ...hint('w', 1), padding: 'x'.repeat(120_000) })
  const written: string[] = []
  for (const revisionIndex of [0, 1, 2, 3]) {
    const keys = Array.from({ length: 10 }, (_, index) => `${PREFIX}${revisionIndex}-${index}`)
    await admin.putAtOnce(keys, value)
    written.push(...keys)
  }
  const changes = await read(changeKeys, revision, 40)
  expect(changes.map(change => (change.type === 'put' ? change.key : ''))).toEqual(written)
  expect(new Set(changes.map(change => change.revision)).size).toBe(4)
})

it('delivers all changes of a revision though it is aborted after the first', async () => {
  const { changeKeys } = clients.connect()
  const { revision } = await list(changeKeys)
  await admin.putAtOnce([`${PREFIX}a`, `${PREFIX}b`, `${PREFIX}c`], JSON.stringify(hint('w', 1)))
  await admin.put(`${PREFIX}d`, JSON.stringify(hint('w', 1)))
  expect((await read(changeKeys, revision, 1)).length).toBe(3)
})

it('delivers a key without a valid hint as changed, and never logs its value', async () => {
  const client = clients.connect()
  const { revision } = await list(client.changeKeys)
  await admin.put(`${PREFIX}w-9`, 'license-token-1234')
  expect((await list(client.changeKeys)).entries[0]?.hint).toEqual({ id: 'w-9', version: 0, updated_at: '' })
  expect(await read(client.changeKeys, revision, 1)).toMatchObject([{ type: 'put', hint: { id: 'w-9' } }])
  expect(client.logger.messages('warn')).toContain('change key holds no hint')
  expect(JSON.stringify(client.logger.lines)).not.toContain('license-token-1234')
  expect(await client.changeKeys.publish(`${PREFIX}w-9`, hint('w-9', 1))).toBe(true)
})

it('expires a removed key, even if the process that removed it is gone', async () => {
  const { changeKeys } = clients.connect()
  const key = `${PREFIX}w-1`
  await changeKeys.publish(key, hint('w-1', 1))
  const { revision } = await list(changeKeys)
  await changeKeys.remove(key, 2)
  const leases = await admin.leases()
  expect(leases).toHaveLength(1)
  for (const lease of leases) await admin.revoke(lease)
  expect((await list(changeKeys)).entries).toEqual([])
  expect(await read(changeKeys, revision, 2)).toMatchObject([
    { type: 'put', key, hint: { version: 2, deleted: true } },
    { type: 'delete', key },
  ])
})

it('ignores leader keys under the prefix', async () => {
  const client = clients.connect()
  const { revision } = await list(client.changeKeys)
  await admin.put(`${PREFIX}leader`, '{"instance_id":"one"}')
  expect(await read(client.changeKeys, revision, 1)).toMatchObject([{ type: 'put', hint: { version: 0 } }])
  expect(client.logger.messages('warn')).not.toContain('change key holds no hint')
})

it('reports to a watcher that its revisions belong to another history when etcd was rebuilt', async () => {
  const { changeKeys } = clients.connect()
  const { revision } = await list(changeKeys)
  const stop = new AbortController()
  for await (const message of changeKeys.source(PREFIX).watch(revision + 1_000, stop.signal)) {
    expect(message).toEqual({ type: 'progress', revision })
    stop.abort()
  }
})

it('ends its streams and rejects calls once it is closed', async () => {
  const client = clients.connect()
  const follower = follow(client.changeKeys, PREFIX)
  await eventually('the list', () => follower.lists === 1)
  await client.close()
  await eventually('the end of the stream', () => follower.breaks > 0)
  await expect(client.changeKeys.publish(`${PREFIX}w-1`, hint('w-1', 1))).rejects.toMatchObject({ code: 'etcd_closed' })
  follower.stop()
})
