import type { ChangeHint, ChangeKeys } from '@lcm/coordination/change-keys'
import { type EtcdCoordination, etcdCoordination } from '@lcm/coordination/etcd/coordination'
import { type EtcdAdmin, etcdAdmin } from '@lcm/coordination/testing/etcd-admin'
import { type EtcdServer, startEtcd } from '@lcm/coordination/testing/etcd-server'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { ChangeFeed, PositionedChange } from '@lcm/store/store'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { changeKeyFeed } from './change-key-feed.ts'

const WORKERS = '/lcm/workers/'
const SEAT = '/lcm/worker-controller/leader'
const POLL_MS = 20
const TIMEOUT_MS = 20_000
const resourceOfKey = (key: string) =>
  key.startsWith(WORKERS) ? { kind: 'worker', id: key.slice(WORKERS.length) } : null
const hint = (id: string, version: number): ChangeHint => ({ id, version, updated_at: '2026-01-01T00:00:00Z' })

let etcd: EtcdServer
let admin: EtcdAdmin
let stop: AbortController
const clients: EtcdCoordination[] = []

beforeAll(async () => {
  etcd = await startEtcd()
  admin = etcdAdmin(etcd.endpoints[0] ?? '')
})
afterAll(async () => {
  admin.close()
  await etcd.close()
})
beforeEach(async () => {
  stop = new AbortController()
  await admin.wipe()
})
afterEach(async () => {
  stop.abort()
  await Promise.all(clients.splice(0).map(client => client.close()))
})

function connect(): ChangeKeys {
  const client = etcdCoordination({ endpoints: etcd.endpoints, clock: systemClock, logger: silentLogger })
  clients.push(client)
  return client.changeKeys
}

/** The feed of another replica, with its own client. */
function aReplica(changesKept = 10_000): ChangeFeed {
  const source = connect().source('/lcm/')
  const { feed, service } = changeKeyFeed({ source, resourceOfKey, clock: systemClock, log: silentLogger, changesKept })
  void service.run(stop.signal)
  return feed
}

async function changesAfter(feed: ChangeFeed, position: string, limit: number): Promise<readonly PositionedChange[]> {
  const answer = await feed.since(position, limit)
  if (!answer.known) throw new Error(`${position} is unknown`)
  return answer.changes
}

/** Everything up to the first change of a resource, read a few at a time. */
async function readUntil(feed: ChangeFeed, from: string, id: string): Promise<PositionedChange[]> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS
  const read: PositionedChange[] = []
  while (!read.some(change => change.id === id)) {
    if (systemClock.monotonic() > deadline) throw new Error(`${id} was not delivered within ${TIMEOUT_MS} ms`)
    const changes = await changesAfter(feed, read.at(-1)?.position ?? from, 40)
    read.push(...changes)
    if (changes.length === 0) await systemClock.sleep(POLL_MS)
  }
  return read
}

/** First answer of a replica that reads it back; a slow machine may need a second attempt. */
async function firstAfter(feed: ChangeFeed, position: string, count: number): Promise<readonly PositionedChange[]> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS
  let changes = await changesAfter(feed, position, 3)
  while (changes.length < count && systemClock.monotonic() < deadline) changes = await changesAfter(feed, position, 3)
  return changes
}

/** Publishes and removes; shares its resources with concurrent writers. */
async function writeMuch(keys: ChangeKeys, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    const id = `w-${Math.floor(n / 25)}-${n % 5}`
    if (n % 25 >= 20) await keys.remove(WORKERS + id, n + 1)
    else await keys.publish(WORKERS + id, hint(id, n))
    if (n % 50 === 0) await admin.put(SEAT, `{"instance_id":"${n}"}`)
  }
}

/** Puts after a position according to etcd itself, up to and including the last. */
async function putsAfter(position: string, lastId: string): Promise<string[]> {
  const puts: string[] = []
  for await (const message of connect().source(WORKERS).watch(Number(position), stop.signal)) {
    if (message.type !== 'put') continue
    const { version, deleted = false } = message.hint
    puts.push(`${message.revision} ${message.key.slice(WORKERS.length)} v${version} ${deleted}`)
    if (message.key === WORKERS + lastId) break
  }
  return puts
}

const text = ({ position, id, version, deleted }: PositionedChange) => `${position} ${id} v${version} ${deleted}`

it('delivers the same at the same position on every replica', async () => {
  const [one, other] = [aReplica(), aReplica(20)]
  const start = await one.position()
  await Promise.all([writeMuch(connect(), 250), writeMuch(connect(), 250)])
  await connect().publish(`${WORKERS}last`, hint('last', 1))
  const all = await readUntil(one, start, 'last')
  expect(all.map(text)).toEqual(await putsAfter(start, 'last'))
  expect(all.filter(({ deleted }) => deleted).length).toBeGreaterThanOrEqual(45)
  expect(await readUntil(other, start, 'last')).toEqual(all)
  const late = aReplica()
  for (const [index, { position }] of all.entries()) {
    const next = all.slice(index + 1, index + 4)
    expect(await changesAfter(one, position, 3)).toEqual(next)
    if (index % 25 === 0 || index > all.length - 25) expect(await changesAfter(other, position, 3)).toEqual(next)
    if (index % 25 === 0) expect(await firstAfter(late, position, next.length)).toEqual(next)
  }
})

it('rejects a position from before a compaction, unless it holds all later changes', async () => {
  const keys = connect()
  const holding = aReplica()
  const start = await holding.position()
  for (let version = 1; version <= 5; version += 1) await keys.publish(`${WORKERS}w-1`, hint('w-1', version))
  await keys.publish(`${WORKERS}last`, hint('last', 1))
  const all = await readUntil(holding, start, 'last')
  await admin.compact()
  const late = aReplica()
  expect(await late.since(start, 10)).toEqual({ known: false })
  expect(await changesAfter(holding, start, 10)).toEqual(all)
  expect(await changesAfter(late, all.at(-1)?.position ?? '', 10)).toEqual([])
  await keys.publish(`${WORKERS}w-1`, hint('w-1', 6))
  expect(await readUntil(late, all.at(-1)?.position ?? '', 'w-1')).toMatchObject([{ id: 'w-1', version: 6 }])
})

it('rejects a position that etcd has not reached', async () => {
  const feed = aReplica()
  const ahead = String(Number(await feed.position()) + 1_000)
  expect(await feed.since(ahead, 10)).toEqual({ known: false })
})

it('accepts a position when only unrelated keys changed after it', async () => {
  const keys = connect()
  const feed = aReplica()
  const start = await feed.position()
  await keys.publish(`${WORKERS}w-1`, hint('w-1', 1))
  const changes = await readUntil(feed, start, 'w-1')
  const elsewhere = String(await admin.put('/elsewhere', ''))
  const late = aReplica()
  expect(await late.position()).toBe(elsewhere)
  expect(await changesAfter(feed, elsewhere, 10)).toEqual([])
  expect(await changesAfter(late, start, 10)).toEqual(changes)
})

it('continues after etcd is killed and restarted', async () => {
  const keys = connect()
  const [one, other] = [aReplica(), aReplica()]
  const start = await one.position()
  await other.position()
  await keys.publish(`${WORKERS}w-1`, hint('w-1', 1))
  await readUntil(one, start, 'w-1')
  await etcd.members[0]?.kill()
  const during = await one.position()
  await etcd.members[0]?.restart()
  await published(keys, 'w-2')
  const all = await readUntil(one, start, 'w-2')
  expect(all.map(({ id, version }) => `${id} v${version}`)).toEqual(['w-1 v1', 'w-2 v1'])
  expect(await readUntil(other, start, 'w-2')).toEqual(all)
  expect(await readUntil(other, during, 'w-2')).toEqual(all.slice(1))
})

/** A lost connection takes time to recover. */
async function published(keys: ChangeKeys, id: string): Promise<void> {
  const deadline = systemClock.monotonic() + TIMEOUT_MS
  for (;;) {
    const isPublished = await keys.publish(WORKERS + id, hint(id, 1)).then(
      () => true,
      () => false,
    )
    if (isPublished) return
    if (systemClock.monotonic() > deadline) throw new Error(`${id} was not published within ${TIMEOUT_MS} ms`)
    await systemClock.sleep(POLL_MS)
  }
}
