import { isProblem } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create, label, openReplicas, type Replica, type Replicas, remove } from './clusters/api-replicas.ts'
import { openEventLog } from './event-log.ts'
import { killStorm } from './kill-storm.ts'

const LIMIT_MS = 180_000
const KILLS = 6
/** The survivor publishes pending changes of others every two seconds; the rest is for a busy machine. */
const DELIVERED_MS_MAX = 90_000
const KEY_POLL_MS = 500
/** Requests whose replica died before and after the worker was stored, without a response. */
const DIED_BEFORE = 'died-before'
const DIED_BEHIND = 'died-behind'

let replicas: Replicas
beforeAll(async () => {
  replicas = await openReplicas()
  // First, because they can be repeated only half a minute later.
  if (replicas.mongo.process !== null)
    await Promise.all([dieAfter('idempotent_request', DIED_BEFORE), dieAfter('worker', DIED_BEHIND)])
}, LIMIT_MS)
afterAll(async () => {
  const defects = replicas.defects()
  await replicas.close()
  expect(defects).toEqual([])
}, LIMIT_MS)

/** Requests a worker with a key, and kills the replica right after this insert reached the store. */
async function dieAfter(kind: string, name: string): Promise<void> {
  const { replica, mongo } = await replicas.startBehindProxies(name)
  const reached = mongo.shutAfter(message => message.includes('insert\0') && message.includes(`${kind}\0`))
  const creating = createWithKey(replica, name)
  creating.catch(() => undefined)
  await reached
  await replica.kill()
  await expect(creating).rejects.toThrow(/does not answer/)
  for (const other of replicas.both) await expect(createWithKey(other, name)).rejects.toThrow(/is being carried out/)
}

/** The name is also the key. */
const createWithKey = (replica: Replica, name: string) =>
  replica.with({ 'idempotency-key': name }).call('createWorker', { body: { template_name: 'metal', name } })

describe('kill -9 of a replica', { timeout: LIMIT_MS }, () => {
  it(`loses no acknowledged write and no event, ${KILLS} times in a storm of writes`, async () => {
    const verdict = await killStorm(replicas, KILLS)
    expect(verdict).toMatchObject({ writesLost: [], auditLost: [], auditTwice: [], eventsGoneBack: 0, resets: 0 })
    expect(verdict.acknowledged).toBeGreaterThan(10 * KILLS)
    expect(verdict.uncertain).toBeGreaterThan(0)
    expect(Math.max(...verdict.deliveredAfterMs)).toBeLessThan(DELIVERED_MS_MAX)
  })

  it('lets the survivor deliver changes that the dead replica acknowledged and did not publish', async ({ skip }) => {
    if (replicas.mongo.process === null) return skip('the server is external')
    const epoch = await replicas.newTerm()
    const { replica: victim, etcd } = await replicas.startBehindProxies('unpublished')
    const [old, removed] = [await create(victim, 'unpublished-old'), await create(victim, 'unpublished-removed')]
    const log = await openEventLog([replicas.a.client])
    etcd.shut()
    const made = await create(victim, 'unpublished-new')
    await label(victim, old.id, 1)
    await remove([victim, victim], removed.id, epoch)
    await victim.kill()
    const since = systemClock.monotonic()
    await log.untilReceived([
      [made.id, 1],
      [old.id, 2],
      [removed.id, 4],
    ])
    expect(systemClock.monotonic() - since).toBeLessThan(DELIVERED_MS_MAX)
    expect(log.received.filter(({ id }) => id === removed.id).at(-1)).toMatchObject({
      type: 'worker.deleted',
      version: 4,
    })
    await log.stop()
  })
})

describe('a request whose replica died', { timeout: LIMIT_MS }, () => {
  it('can be repeated at another replica after half a minute, and creates one worker', async ({ skip }) => {
    if (replicas.mongo.process === null) return skip('the server is external')
    const { a, b } = replicas
    const { items: left } = await a.client.call('listWorkers', { query: { q: 'died-' } })
    const made = left.find(({ name }) => name === DIED_BEHIND)
    const [before, behind] = await Promise.all([repeated(b, DIED_BEFORE), repeated(a, DIED_BEHIND)])
    expect(behind.id).toBe(made?.id)
    for (const replica of replicas.both)
      expect([await createWithKey(replica, DIED_BEFORE), await createWithKey(replica, DIED_BEHIND)]).toEqual([
        before,
        behind,
      ])
    const { items } = await b.client.call('listWorkers', { query: { q: 'died-' } })
    expect(items.map(({ id }) => id).toSorted()).toEqual([before.id, behind.id].toSorted())
    for (const { id } of items) {
      const audit = await a.client.call('listAudit', { query: { resource: `worker:${id}` } })
      expect(audit.items.map(({ action }) => action)).toEqual(['create'])
    }
  })

  /** Repeats while the key is in progress. */
  async function repeated(replica: Replica, name: string) {
    for (;;) {
      try {
        return await createWithKey(replica, name)
      } catch (error) {
        if (!isProblem(error, 'idempotency_in_progress')) throw error
        await systemClock.sleep(KEY_POLL_MS)
      }
    }
  }
})
