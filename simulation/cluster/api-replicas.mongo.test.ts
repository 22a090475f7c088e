import { isProblem } from '@lcm/client/client'
import { systemClock } from '@lcm/runtime/clock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  create,
  label,
  openReplicas,
  type Replica,
  type Replicas,
  register,
  remove,
  report,
} from './clusters/api-replicas.ts'
import { durableEvents, openEventLog, versionsGoingBack } from './event-log.ts'

const LIMIT_MS = 120_000
const WRITERS = 50
/** Each link causes a failed attempt, and twenty per minute are allowed. */
const LOGIN_LINKS = 12
const SERVICE = { service: 'worker-controller' }

let replicas: Replicas
let a: Replica
let b: Replica
beforeAll(async () => {
  replicas = await openReplicas()
  ;({ a, b } = replicas)
}, LIMIT_MS)
afterAll(async () => {
  const defects = replicas.defects()
  await replicas.close()
  expect(defects).toEqual([])
}, LIMIT_MS)

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const replicaOf = (index: number) => (index % 2 === 0 ? a : b)
const read = (replica: Replica, id: string) => replica.client.call('getWorker', { params: { id } })
const auditOf = async (replica: Replica, id: string) =>
  (await replica.client.call('listAudit', { query: { resource: `worker:${id}`, limit: 1000 } })).items
/** How a call ended: `ok`, or the code of the problem. */
const outcome = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    error => (error instanceof Error && 'problem' in error ? Object(error.problem).code : String(error)),
  )

describe('the events of two replicas', { timeout: LIMIT_MS }, () => {
  it('are equal at equal positions, and can be resumed at the other replica from each position', async () => {
    const epoch = await replicas.newTerm()
    const atA = await openEventLog([a.client])
    const atB = await openEventLog([b.client], atA.from)
    const made = await times(20, index => create(replicaOf(index), `same-${index}`))
    await times(made.length, async index => {
      const id = made[index]?.id ?? ''
      for (let change = 0; change < 4; change += 1) await label(replicaOf(index + change), id, change)
      if (index % 4 === 0) await remove(index % 8 === 0 ? [a, b] : [b, a], id, epoch)
    })
    const ends = made.map(({ id }, index) => [id, index % 4 === 0 ? 8 : 5] as const)
    await Promise.all([atA.untilReceived(ends), atB.untilReceived(ends)])
    await Promise.all([atA.stop(), atB.stop()])

    expect(durableEvents(atB.received)).toEqual(durableEvents(atA.received))
    expect(durableEvents(atA.received).length).toBeGreaterThanOrEqual(20)
    for (const log of [atA, atB]) {
      expect(versionsGoingBack(log.received)).toEqual([])
      expect(log).toMatchObject({ resets: 0, breaks: 0 })
    }
    for (const [index, position] of [atA.from, ...atA.received.map(each => each.position)].entries()) {
      const rest = new Set(atA.received.slice(index))
      const expected = durableEvents(atA.received).filter(each => rest.has(each))
      const resumed = await openEventLog([replicaOf(index + 1).client], position)
      await resumed.untilReceived(expected.map(({ id, version }) => [id, version]))
      await resumed.stop()
      expect(durableEvents(resumed.received), `after ${position}`).toEqual(expected)
      expect(resumed).toMatchObject({ resets: 0, breaks: 0 })
    }
  })

  it('continue the list of either replica without a gap', async () => {
    const made = await times(4, index => create(replicaOf(index), `listed-${index}`))
    let isStorming = true
    const storm = times(made.length, async index => {
      for (let n = 0; isStorming; n += 1) await label(replicaOf(index + n), made[index]?.id ?? '', n)
    })
    try {
      for (let n = 0; n < 8; n += 1) {
        const [lister, follower] = [replicaOf(n), replicaOf(n + 1)]
        const query = { q: 'listed-', limit: 1000 }
        const { items, revision } = await lister.client.call('listWorkers', { query })
        const versions = new Map(items.map(({ id, version }) => [id, version]))
        const log = await openEventLog([follower.client], revision)
        // Versions that the list does not have are delivered, or newer ones.
        const now = await times(made.length, index => read(lister, made[index]?.id ?? ''))
        await log.untilReceived(
          now.filter(each => each.version > (versions.get(each.id) ?? 0)).map(each => [each.id, each.version]),
        )
        await log.stop()
        expect(log).toMatchObject({ resets: 0, breaks: 0 })
      }
    } finally {
      isStorming = false
      await storm
    }
  })
})

describe('compare-and-set over two replicas', { timeout: LIMIT_MS }, () => {
  it(`loses no update of ${WRITERS} writers with If-Match`, async () => {
    const { id } = await create(a, 'counted')
    await label(a, id, 0)
    const increment = async (replica: Replica): Promise<number> => {
      for (let tries = 1; ; tries += 1) {
        const { version, labels } = await read(replica, id)
        const body = { labels: { n: String(Number(labels.n) + 1) } }
        const done = await outcome(replica.client.call('patchWorker', { params: { id }, ifMatch: version, body }))
        if (done === 'ok') return tries
        expect(['version_mismatch', 'rate_limited']).toContain(done)
      }
    }
    const tries = await times(WRITERS, index => increment(replicaOf(index)))
    expect(Math.max(...tries)).toBeGreaterThan(1)
    for (const replica of replicas.both)
      expect(await read(replica, id)).toMatchObject({ version: 2 + WRITERS, labels: { n: String(WRITERS) } })
  })

  it(`loses no update of ${WRITERS} writers without If-Match, and audits each`, async () => {
    const { id } = await create(b, 'contended')
    const before = await triggersOf(a)
    const answers = await times(WRITERS, index => label(replicaOf(index), id, index))
    await times(WRITERS, index => replicaOf(index).client.call('triggerService', { params: SERVICE, body: {} }))
    const versions = answers.map(({ version }) => version).toSorted((x, y) => x - y)
    expect(versions).toEqual(Array.from({ length: WRITERS }, (_, index) => index + 2))
    expect((await triggersOf(b)) - before).toBe(WRITERS)

    const story = (await auditOf(a, id)).filter(({ action }) => action === 'patch').toReversed()
    expect(story).toHaveLength(WRITERS)
    const byVersion = new Map(answers.map(({ version, labels }) => [version, labels]))
    for (const [index, { after, before: was }] of story.entries()) {
      expect(after.labels).toEqual(byVersion.get(index + 2))
      expect(was.labels).toEqual(byVersion.get(index + 1) ?? {})
    }
  })

  /** Number of triggers of the leader, which the API increments. */
  async function triggersOf({ controller }: Replica): Promise<number> {
    const nothing = { is_leader: false, epoch: 0, since: null, software: 'x', retries: 0, last_sweep: null, plan: [] }
    const body = { ...nothing, queue: { due: 0, active: 0 }, watch: { healthy: true, age_seconds: 0 } }
    return (await controller.call('reportInstance', { params: { ...SERVICE, instance_id: 'i' }, body })).triggers
  }
})

describe('fencing over two replicas', { timeout: LIMIT_MS }, () => {
  it('accepts a term of one replica at both', async () => {
    const worker = await create(a, 'fenced')
    const old = await replicas.newTerm()
    // Terms alternate between the replicas; this is the one without the registration.
    const written = await report(replicaOf(old + 1), worker, old, { service_status: 'STARTING' })
    expect(written).toMatchObject({ version: 2, fence: { 'worker-controller': old } })
    expect(await outcome(report(a, written, old + 1, {}))).toBe('term_not_registered')
    expect(await outcome(report(b, written, old + 1, {}))).toBe('term_not_registered')
    expect(await outcome(register(a, old, 'another'))).toBe('stale_leader')

    const epoch = await replicas.newTerm()
    for (const replica of replicas.both) {
      expect(await outcome(report(replica, written, old, {}))).toBe('stale_leader')
      expect(await outcome(register(replica, old))).toBe('stale_leader')
    }
    expect(await report(a, written, epoch, {})).toMatchObject({ version: 3, fence: { 'worker-controller': epoch } })
  })

  it('refuses writes of the old leader that begin after the new term, while both write', async () => {
    const workers = await times(20, index => create(replicaOf(index), `raced-${index}`))
    const old = await replicas.newTerm()
    const accepted: { beganAt: number }[] = []
    let registeredAt = Number.POSITIVE_INFINITY
    let isOver = false
    const zombie = times(workers.length, async index => {
      const refusals = new Set<string>()
      for (let n = index; !isOver; n += 1) {
        const replica = replicaOf(n)
        const current = await read(replica, workers[index]?.id ?? '')
        const beganAt = systemClock.monotonic()
        const done = await outcome(
          report(replica, current, old, { service_status: n % 2 === 0 ? 'STARTING' : 'ERROR' }),
        )
        if (done === 'ok') accepted.push({ beganAt })
        else refusals.add(done)
      }
      return refusals
    })
    await openEventLog([a.client]).then(async log => {
      await log.untilReceived(workers.map(({ id }) => [id, 3]))
      await log.stop()
    })
    const epoch = await replicas.newTerm()
    registeredAt = systemClock.monotonic()
    await times(workers.length, index => writeUntilAccepted(replicaOf(index), workers[index]?.id ?? '', epoch))
    isOver = true
    const refusals = new Set((await zombie).flatMap(each => [...each]))
    expect(refusals).toContain('stale_leader')
    expect([...refusals].filter(each => each !== 'stale_leader' && each !== 'version_mismatch')).toEqual([])
    expect(accepted.length).toBeGreaterThan(workers.length)
    expect(accepted.filter(({ beganAt }) => beganAt > registeredAt)).toEqual([])

    for (const [index, { id }] of workers.entries()) {
      const { items } = await replicaOf(index).client.call('getWorkerDecisions', {
        params: { id },
        query: { limit: 1000 },
      })
      const epochs = items.map(each => each.epoch)
      // Newest first: no decision of the old leader follows one of the new leader.
      expect(epochs).toEqual(epochs.toSorted((x, y) => y - x))
      expect(epochs[0]).toBe(epoch)
    }
  })

  it('refuses a write whose check passed before a newer leader wrote', async ({ skip }) => {
    if (replicas.mongo.process === null) return skip('the server is external')
    const { replica: slow, mongo } = await replicas.startBehindProxies('slow')
    const worker = await create(a, 'overtaken')
    const old = await replicas.newTerm()
    const checked = mongo.shutAfter(message => message.includes('find\0') && message.includes(SERVICE.service))
    // It uses the next version, so that only the fence can refuse it.
    const overtaken = outcome(report(slow, { ...worker, version: 2 }, old, { service_status: 'ERROR' }))
    await checked
    const epoch = await replicas.newTerm()
    const written = await report(b, worker, epoch, { service_status: 'STARTING' })
    mongo.open()
    expect(await overtaken).toBe('stale_leader')
    expect(await read(a, worker.id)).toEqual(written)
    await slow.kill()
  })

  it('restarts at both when an administrator resets the terms at one', async () => {
    const worker = await create(b, 'reset')
    const old = await replicas.newTerm()
    const written = await report(a, worker, old, { service_status: 'STARTING' })
    expect(await outcome(register(b, 1, 'rebuilt'))).toBe('stale_leader')
    await a.client.call('resetTerm', { params: SERVICE })
    for (const replica of replicas.both)
      expect(await outcome(report(replica, written, old, {}))).toBe('term_not_registered')
    await register(b, 1, 'rebuilt')
    const restarted = await report(a, written, 1, { service_status: 'AVAILABLE' })
    expect(restarted.version).toBe(3)
    for (const replica of replicas.both) expect(await outcome(report(replica, restarted, old, {}))).not.toBe('ok')
  })

  /** Retries a write of the leader until it is accepted. */
  async function writeUntilAccepted(replica: Replica, id: string, epoch: number): Promise<void> {
    for (;;) {
      const done = await outcome(report(replica, await read(replica, id), epoch, { service_status: 'AVAILABLE' }))
      if (done === 'ok') return
      expect(done).toBe('version_mismatch')
    }
  }
})

describe('a request to one replica', { timeout: LIMIT_MS }, () => {
  it('creates one worker when it is sent to both with the same Idempotency-Key', async () => {
    const created = await times(20, async key => {
      const body = { template_name: 'metal', name: `once-${key}` }
      const both = replicas.both.map(replica => replica.with({ 'idempotency-key': `k${key}` }))
      const answers = await Promise.allSettled(both.map(client => client.call('createWorker', { body })))
      const made = answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value.id] : []))
      const refused = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason] : []))
      expect(refused.filter(error => !isProblem(error, 'idempotency_in_progress'))).toEqual([])
      expect(new Set(made).size).toBe(1)
      const again = await Promise.all(both.map(client => client.call('createWorker', { body })))
      return [...made, ...again.map(({ id }) => id)]
    })
    const { items } = await b.client.call('listWorkers', { query: { q: 'once-', limit: 1000 } })
    expect(created.map(ids => [...new Set(ids)])).toEqual(created.map(([id]) => [id]))
    expect(items.map(({ id }) => id).toSorted()).toEqual(created.map(([id]) => id ?? '').toSorted())
  })

  it('stores a secret that the controller can read at the other', async () => {
    const { id } = await create(a, 'licensed')
    const body = { product: 'CML_Enterprise', token: 'planted-license-token' }
    await a.client.call('putWorkerLicense', { params: { id }, body })
    const secrets = await b.controller.call('getWorkerSecrets', { params: { id } })
    expect(secrets.license_token).toBe('planted-license-token')
    expect([...replicas.both.map(each => each.log())].join('')).not.toContain('planted-license-token')
  })

  it('with a login link creates one browser session for concurrent requests, which is valid at both', async () => {
    const signIn = ({ url }: Replica, link: string) =>
      fetch(`${url}/login`, {
        method: 'POST',
        headers: { origin: url, 'content-type': 'application/json' },
        body: JSON.stringify({ code: link.split('code=')[1] }),
      })
    const cookies: string[] = []
    for (let link = 0; link < LOGIN_LINKS; link += 1) {
      const { url } = await replicaOf(link).client.call('createLoginLink', {})
      const visits = await Promise.all(replicas.both.map(replica => signIn(replica, url)))
      expect(visits.map(({ status }) => status).toSorted()).toEqual([204, 401])
      cookies.push(...visits.flatMap(each => each.headers.get('set-cookie') ?? []))
    }
    expect(cookies).toHaveLength(LOGIN_LINKS)
    for (const replica of replicas.both) {
      const headers = cookieFor(replica, cookies[0] ?? '')
      expect((await fetch(`${replica.url}/api/v1/info`, { headers })).status).toBe(200)
    }
    await logOutEndsStream(cookies[0] ?? '')
  })

  /** Browsers reach all replicas by one address, whose port is part of the name; here each has its own. */
  const cookieFor = ({ url }: Replica, cookie: string) => ({
    cookie: `lcm_session_${new URL(url).port}=${/=([^;]+)/.exec(cookie)?.[1]}`,
  })

  /** A logout at one replica ends the event stream of the other within five seconds. */
  async function logOutEndsStream(cookie: string): Promise<void> {
    const stream = await fetch(`${b.url}/api/v1/events`, { headers: cookieFor(b, cookie) })
    expect(stream.status).toBe(200)
    const ended = stream.text().then(() => systemClock.monotonic())
    const startMs = systemClock.monotonic()
    const headers = { ...cookieFor(a, cookie), origin: a.url }
    expect((await fetch(`${a.url}/logout`, { method: 'POST', headers })).status).toBe(204)
    expect((await ended) - startMs).toBeLessThan(5_000)
    expect((await fetch(`${b.url}/api/v1/info`, { headers: cookieFor(b, cookie) })).status).toBe(401)
  }

  it('creates a token that is valid at the other, and invalid soon after its deletion', async () => {
    const token = await a.client.call('createToken', { body: { name: 'ci', role: 'operator' } })
    const headers = { authorization: `Bearer ${token.secret}` }
    expect(await b.with(headers).call('info', {})).toMatchObject({ actor: { role: 'operator' } })
    await a.client.call('deleteToken', { params: { id: token.id } })
    expect(await outcome(a.with(headers).call('info', {}))).toBe('unauthenticated')
    let last = 'ok'
    while (last === 'ok') last = await outcome(b.with(headers).call('info', {}))
    expect(last).toBe('unauthenticated')
  })
})
