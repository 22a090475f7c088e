import { ApiError } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { create, label, openReplicas, type Replica, type Replicas, remove } from './clusters/api-replicas.ts'
import { durableEvents, openEventLog } from './event-log.ts'
import { eventually } from './failover-run.ts'

const LIMIT_MS = 180_000
/** The API responds within 25 seconds; the rest is for a busy machine. */
const ANSWER_MS_MAX = 30_000

let replicas: Replicas
beforeAll(async () => {
  replicas = await openReplicas()
}, LIMIT_MS)
afterAll(async () => {
  const defects = replicas.defects()
  await replicas.close()
  expect(defects).toEqual([])
}, LIMIT_MS)

interface Answer {
  readonly what: string
  /** `ok`, the code of the problem, or the error. */
  readonly came: string
  readonly ms: number
}

async function timed(what: string, call: Promise<unknown>): Promise<Answer> {
  const since = systemClock.monotonic()
  const came = await call.then(
    () => 'ok',
    error => (error instanceof ApiError ? error.problem.code : String(error)),
  )
  return { what, came, ms: Math.round(systemClock.monotonic() - since) }
}

/** Sends one request of each kind at the same time. */
function askAll({ name, withoutTimeout }: Replica, id: string): Promise<Answer[]> {
  const { client, controller } = withoutTimeout
  const params = { id }
  const calls = {
    info: client.call('info', {}),
    getWorker: client.call('getWorker', { params }),
    listWorkers: client.call('listWorkers', {}),
    createWorker: client.call('createWorker', { body: { template_name: 'metal' } }),
    patchWorker: client.call('patchWorker', { params, body: { labels: { at: `${systemClock.now()}` } } }),
    stopWorker: client.call('stopWorker', { params, body: {} }),
    getWorkerHistory: client.call('getWorkerHistory', { params }),
    listAudit: client.call('listAudit', {}),
    getSettings: client.call('getSettings', {}),
    listServices: client.call('listServices', {}),
    createLoginLink: client.call('createLoginLink', {}),
    getFleetSummary: client.call('getFleetSummary', {}),
    getWorkerSecrets: controller.call('getWorkerSecrets', { params }),
  }
  return Promise.all(Object.entries(calls).map(([route, call]) => timed(`${route} at ${name}`, call)))
}

const askBoth = async (id: string): Promise<readonly Answer[]> =>
  (await Promise.all(replicas.both.map(replica => askAll(replica, id)))).flat()
const isOk = ({ came }: Answer) => came === 'ok'

describe('a store that does not answer', { timeout: LIMIT_MS }, () => {
  it('is reported as store_unavailable in time, and everything works again when it is back', async ({ skip }) => {
    const server = replicas.mongo.process
    if (server === null) return skip('the server is external')
    const { id } = await create(replicas.a, 'frozen')
    // Opens the connections on which later requests wait without a response.
    expect((await askBoth(id)).filter(answer => !isOk(answer))).toEqual([])
    const log = await openEventLog(replicas.both.map(({ client }) => client))
    server.freeze()
    try {
      for (const answers of [await askBoth(id), await askBoth(id)]) {
        const needStore = answers.filter(({ what }) => !what.startsWith('info '))
        expect(needStore.filter(({ came }) => came !== 'store_unavailable')).toEqual([])
        expect(answers.filter(({ ms }) => ms > ANSWER_MS_MAX)).toEqual([])
      }
    } finally {
      server.thaw()
    }
    await eventually('an answer to everything', async () => ((await askBoth(id)).every(isOk) ? true : null))
    const { version } = await label(replicas.b, id, 1)
    await log.untilReceived([[id, version]])
    expect(log.resets).toBe(0)
    await log.stop()
  })
})

describe('an etcd that is gone', { timeout: LIMIT_MS }, () => {
  it('stops no write, and all changes are delivered when it is back', async () => {
    const { a, b, etcd } = replicas
    const [before, removed] = [await create(a, 'etcd-before'), await create(b, 'etcd-removed')]
    const epoch = await replicas.newTerm()
    const atA = await openEventLog([a.client])
    const atB = await openEventLog([b.client], atA.from)
    const logs = [atA, atB]
    await etcd.members[0]?.kill()
    const made = [await create(a, 'etcd-a'), await create(b, 'etcd-b')]
    const labeled = await label(b, before.id, 1)
    await remove([a, b], removed.id, epoch)
    const { items } = await b.client.call('listWorkers', { query: { q: 'etcd-' } })
    expect(items.map(({ name }) => name).toSorted()).toEqual(['etcd-a', 'etcd-b', 'etcd-before'])
    const madeIds = new Set(made.map(({ id }) => id))
    expect(logs.flatMap(({ received }) => received.filter(({ id }) => madeIds.has(id)))).toEqual([])
    await eventually('a degraded API', async () =>
      JSON.stringify(await (await fetch(`${a.url}/health`)).json()).includes('"degraded"') ? true : null,
    )

    await b.kill()
    await b.restart()
    const again = await create(b, 'etcd-again')
    expect(again.version).toBe(1)
    expect(await timed('a list without a revision', b.withoutTimeout.client.call('listWorkers', {}))).toMatchObject({
      came: 'store_unavailable',
    })

    await etcd.members[0]?.restart()
    const all = [
      ...[...made, again].map(({ id }) => [id, 1] as const),
      [labeled.id, 2] as const,
      [removed.id, 4] as const,
    ]
    await Promise.all(logs.map(log => log.untilReceived(all)))
    expect(atA).toMatchObject({ resets: 0, breaks: 0 })
    expect(atB.resets).toBe(0)
    expect(durableEvents(atB.received)).toEqual(durableEvents(atA.received))
    await Promise.all(logs.map(log => log.stop()))
  })
})
