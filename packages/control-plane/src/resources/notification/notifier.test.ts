import { createHmac } from 'node:crypto'
import { degraded, down, HEALTHY } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import { reason } from '@lcm/domain/reason'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { aControlPlane, type ControlPlaneSetting } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { aDefinition, aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import type { StoredNotification } from '../../internal-documents.ts'
import { crash, interruptibleStore } from '../../testing/interruptible-store.ts'
import type { Email } from './send-message.ts'

const URL_SECRET = 'https://hooks.example.com/secret-path'
const KEY = 'a-signing-key-of-32-characters!!'
type Answer = number | Response | 'hang'

interface Received {
  readonly host: string
  readonly headers: Headers
  readonly body: string
}

/** Receivers of HTTP requests and email in memory. They accept everything unless other answers are given. */
function receivers() {
  const requests: Received[] = []
  const emails: Email[] = []
  const answers = new Map<string, Answer[]>()
  const fetch: typeof globalThis.fetch = async (input, { headers, body, signal } = {}) => {
    const { host } = new URL(String(input))
    requests.push({ host, headers: new Headers(headers), body: String(body) })
    const [answer = 200, ...later] = answers.get(host) ?? []
    answers.set(host, later)
    if (answer !== 'hang') return typeof answer === 'number' ? new Response(null, { status: answer }) : answer
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
  }
  const sendEmail = async (email: Email) => {
    emails.push(email)
    return { outcome: 'accepted' } as const
  }
  const dataOf = ({ body }: Received) => JSON.parse(body).data
  return {
    requests,
    emails,
    setting: { source: '/lcm/lab', fetch, sendEmail },
    answer: (host: string, ...next: Answer[]) => void answers.set(host, next),
    titles: () => requests.map(request => dataOf(request).title),
    subjects: () => requests.map(request => dataOf(request).subjects as string[]),
  }
}

interface Given extends ControlPlaneSetting {
  readonly seed?: number
}

function aPlane(at = receivers(), { seed = 1, ...setting }: Given = {}) {
  const random = seededRandom(seed)
  const plane = aControlPlane({
    notifications: at.setting,
    publicUrl: 'https://lcm.example.com',
    randomBytes: size => random.bytes(size),
    ...setting,
  })
  const target = async (body: object = {}) => {
    const json = { name: 'all', type: 'webhook', url: URL_SECRET, ...body }
    const created = await plane.send('POST', 'notification-targets', { json })
    expect(created.status).toBe(201)
    return created.json
  }
  const later = (ms: number) => toInstant(plane.clock.now() + ms)
  const session = (more: Partial<LabletSession> = {}) =>
    aSession({
      status: 'RUNNING',
      timeslot: { start: later(0), end: later(3 * 60 * 60_000) },
      created_at: later(0),
      updated_at: later(0),
      ...more,
    })
  const brokenAt = (more: Partial<LabletSession>) =>
    session({
      health: down(reason('lab_down', { worker: 'metal-1', status: 'STOPPED', restarting: false }), later(0)),
      ...more,
    })
  return { ...plane, at, target, session, brokenAt, later, running: () => plane.run('notifier') }
}

const SOON_MS = 45_000

/** One that is due. */
const aNotification = (at: string): StoredNotification => ({
  id: 'no-1',
  version: 1,
  created_at: at,
  updated_at: at,
  target_id: '',
  target_name: 'all',
  target_type: 'webhook',
  owner: null,
  kind: 'session_down',
  severity: 'critical',
  is_resolved: false,
  title: 'Later',
  lines: [],
  link: null,
  subjects: [],
  status: 'QUEUED',
  attempts: 0,
  next_attempt_at: at,
  last_error: null,
  delivered_at: null,
  key: '',
  notices: [],
})

describe('a class', () => {
  it('of 20 that one worker degrades makes one notification, and one when it works again', async () => {
    const plane = aPlane()
    await plane.target()
    const stop = plane.running()
    await plane.clock.advance(0)
    const ids = Array.from({ length: 20 }, (_, index) => `ls-${String(index).padStart(2, '0')}`)
    for (const id of ids) {
      await plane.put('sessions', plane.brokenAt({ id }))
      await plane.clock.advance(500)
    }
    await plane.clock.advance(10 * 60_000)
    expect(plane.at.titles()).toEqual(['20 two-routers labs are down'])
    expect(plane.at.subjects()[0]?.toSorted()).toEqual(ids.map(id => `session:${id}`))
    for (const id of ids) await plane.edit('sessions', id, { health: HEALTHY })
    await plane.clock.advance(10 * 60_000)
    expect(plane.at.titles().slice(1)).toEqual(['20 two-routers labs work again'])
    await stop()
  })

  it('is named by the title of its definition, and its owners get their own email', async () => {
    const plane = aPlane()
    await plane.target({ name: 'owners', type: 'email', url: undefined, to: ['ops@example.com'], to_owner: true })
    await plane.put('definitions', {
      ...aDefinition({ id: 'ld-1', title: 'OSPF basics' }),
      given: { needs: true, port_template: true, title: true, cml_min: true },
      fence: {},
    })
    const stamps = { version: 1, created_at: plane.later(0), updated_at: plane.later(0) }
    const person = { role: 'user', source: 'operator', signed_out_at: null, merging_into: null } as const
    await plane.put('people', { ...stamps, ...person, groups: [], id: 'ann', name: 'Ann', email: 'ann@example.com' })
    await plane.put('people', { ...stamps, ...person, groups: [], id: 'bob', name: 'Bob', email: null })
    const stop = plane.running()
    await plane.put(
      'sessions',
      plane.brokenAt({ id: 'ls-1' }),
      plane.brokenAt({ id: 'ls-2', owner: 'bob', owner_name: 'Bob' }),
    )
    await plane.clock.advance(SOON_MS)
    const metrics = (await plane.send('GET', '/metrics')).body
    expect(metrics).toContain('lcm_notifications_total{target_type="email",outcome="no_address"} 1\n')
    const byAddress = new Map(plane.at.emails.map(email => [email.to.join(), email]))
    expect([...byAddress].map(([to, { subject }]) => `${to}: ${subject}`).toSorted()).toEqual([
      'ann@example.com: Your lab OSPF basics is not available',
      'ops@example.com: 2 OSPF basics labs are down',
    ])
    expect(byAddress.get('ann@example.com')?.text).not.toMatch(/Bob|ls-2|lcm why/)
    await stop()
  })
})

it('after a day repeats nothing, and knows the new title of a definition', async () => {
  const plane = aPlane()
  await plane.target({ kinds: ['session_down'] })
  const stop = plane.running()
  const given = { needs: true, port_template: true, title: true, cml_min: true }
  await plane.put('definitions', { ...aDefinition({ id: 'ld-1', title: 'OSPF' }), given, fence: {} })
  await plane.put('sessions', plane.brokenAt({ id: 'ls-1' }))
  await plane.clock.advance(SOON_MS)
  await plane.edit('definitions', 'ld-1', { title: 'OSPF basics' })
  await plane.clock.advance(25 * 60 * 60_000)
  await plane.put('sessions', plane.brokenAt({ id: 'ls-2' }))
  await plane.clock.advance(SOON_MS)
  expect(plane.at.titles()).toEqual(['Lab OSPF of Ann is down', 'Lab OSPF basics of Ann is down'])
  await stop()
})

describe('a target', () => {
  it.each([
    ['email', { url: undefined, to: ['ops@example.com'] }],
    ['slack', {}],
  ])('of type %s has no signing key', async (type, body) => {
    const plane = aPlane()
    const json = { name: 'keyed', type, url: URL_SECRET, ...body, signing_key: KEY }
    expect((await plane.send('POST', 'notification-targets', { json })).status).toBe(400)
    const { id } = await plane.target({ type, ...body })
    const change = { json: { signing_key: KEY } }
    expect((await plane.send('PATCH', `notification-targets/${id}`, change)).status).toBe(400)
  })

  it('keeps a new address when its signing key is changed at the same time', async () => {
    const at = receivers()
    const store = interruptibleStore(openSqliteStore(':memory:'))
    const { target, send } = aPlane(at, { store })
    const { id } = await target({ signing_key: KEY })
    const patch = (json: object) => send('PATCH', `notification-targets/${id}`, { json })
    const other = async () => expect((await patch({ url: 'https://new.example.com' })).status).toBe(200)
    store.interrupt({ kind: 'secret', write: 'insert', when: 'after', run: other })
    expect((await patch({ signing_key: 'another-key-of-32-characters!!!!' })).json.code).toBe('version_mismatch')
    await send('POST', `notification-targets/${id}/test`)
    expect(at.requests.map(({ host }) => host)).toEqual(['new.example.com'])
  })

  it('can not be given the name of another one', async () => {
    const plane = aPlane()
    await plane.target({ name: 'one' })
    const { id } = await plane.target({ name: 'two' })
    expect((await plane.send('PATCH', `notification-targets/${id}`, { json: { name: 'one' } })).status).toBe(409)
  })
})

describe('delivery', () => {
  const broken = async (plane: ReturnType<typeof aPlane>, id = 'ls-1') => {
    await plane.put('sessions', plane.brokenAt({ id }))
    await plane.clock.advance(SOON_MS)
  }
  const notifications = async (plane: ReturnType<typeof aPlane>, status?: string) =>
    (await plane.send('GET', `notifications${status === undefined ? '' : `?status=${status}`}`)).json.items

  it('to one target does not wait for another one that hangs', async () => {
    const plane = aPlane()
    await plane.target({ name: 'slow', url: 'https://slow.example/' })
    await plane.target({ name: 'quick', url: 'https://quick.example/' })
    plane.at.answer('slow.example', ...Array.from({ length: 100 }, () => 'hang' as const))
    const stop = plane.running()
    await broken(plane)
    await plane.put(
      'sessions',
      plane.session({
        id: 'ls-2',
        health: degraded(reason('lab_state_unknown', { worker: 'x', status: 'RUNNING' }), plane.later(0)),
      }),
    )
    await plane.clock.advance(SOON_MS)
    const hosts = plane.at.requests.map(({ host }) => host)
    expect(hosts.filter(host => host === 'quick.example')).toHaveLength(2)
    const { items } = (await plane.send('GET', 'notification-targets')).json
    const slow = items.find((each: { name: string }) => each.name === 'slow')
    expect(slow).toMatchObject({
      name: 'slow',
      last_success_at: null,
      last_error: 'no answer within 5 s',
      queued: 2,
      dead: 0,
    })
    await stop()
  })

  it('is retried with the same id and signature until it is accepted', async () => {
    const plane = aPlane()
    await plane.target({ signing_key: KEY })
    plane.at.answer('hooks.example.com', 500, 503)
    const stop = plane.running()
    await broken(plane)
    await plane.clock.advance(5 * 60_000)
    expect(plane.at.requests).toHaveLength(3)
    const [first, ...others] = plane.at.requests
    for (const other of others) expect([other.body, ...other.headers]).toEqual([first?.body, ...(first?.headers ?? [])])
    const [id, time] = ['webhook-id', 'webhook-timestamp'].map(name => first?.headers.get(name))
    const signature = createHmac('sha256', KEY).update(`${id}.${time}.${first?.body}`).digest('base64')
    expect(first?.headers.get('webhook-signature')).toBe(`v1,${signature}`)
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      id,
      source: '/lcm/lab',
      type: 'io.lablet.notification.session_down',
      subject: 'session:ls-1',
      data: { title: 'Lab two-routers of Ann is down', link: 'https://lcm.example.com/#/sessions/ls-1' },
    })
    expect(await notifications(plane)).toMatchObject([{ status: 'DELIVERED', attempts: 3, last_error: null }])
    await stop()
  })

  it('waits as long as the receiver asks', async () => {
    const plane = aPlane()
    await plane.target()
    plane.at.answer('hooks.example.com', new Response(null, { status: 429, headers: { 'retry-after': '600' } }))
    const stop = plane.running()
    await broken(plane)
    await plane.clock.advance(9 * 60_000)
    expect(plane.at.requests).toHaveLength(1)
    await plane.clock.advance(2 * 60_000)
    expect(plane.at.requests).toHaveLength(2)
    await stop()
  })

  it('that is refused ends in the dead letters, where it can be retried or deleted', async () => {
    const plane = aPlane()
    const { id: target } = await plane.target()
    plane.at.answer('hooks.example.com', 410, 410)
    const stop = plane.running()
    await broken(plane)
    await broken(plane, 'ls-2')
    const [one, two] = await notifications(plane, 'DEAD')
    expect([one, two]).toMatchObject([{ last_error: 'status 410', attempts: 1 }, { last_error: 'status 410' }])
    expect(await notifications(plane, 'DEAD')).toHaveLength(2)
    expect((await plane.send('GET', `notification-targets/${target}`)).json).toMatchObject({ dead: 2, queued: 0 })
    expect((await plane.send('POST', `notifications/${one.id}/retry`)).status).toBe(202)
    expect((await plane.send('DELETE', `notifications/${two.id}`)).status).toBe(204)
    await plane.clock.advance(SOON_MS)
    expect(await notifications(plane)).toMatchObject([{ id: one.id, status: 'DELIVERED' }])
    expect((await plane.send('GET', `notification-targets/${target}`)).json).toMatchObject({ dead: 0 })
    await stop()
  })

  it('is given up after many attempts', async () => {
    const plane = aPlane()
    await plane.target()
    plane.at.answer('hooks.example.com', ...Array.from({ length: 100 }, () => 500))
    const stop = plane.running()
    await broken(plane)
    await plane.clock.advance(24 * 60 * 60_000)
    const dead = await notifications(plane, 'DEAD')
    expect(dead.map(({ attempts }: { attempts: number }) => attempts)).toEqual(dead.map(() => 14))
    expect(dead.length).toBeGreaterThan(0)
    await stop()
  })

  it('does not wait for many that are retried later', async () => {
    const plane = aPlane()
    const { id: target_id } = await plane.target()
    const one = { ...aNotification(plane.later(0)), target_id }
    const retried = Array.from({ length: 150 }, (_, index) => `no-${String(index).padStart(3, '0')}`)
    for (const id of retried)
      await plane.put('notifications', { ...one, id, key: id, next_attempt_at: plane.later(60 * 60_000) })
    await plane.put('notifications', { ...one, id: 'no-now', key: 'now', title: 'Now' })
    const stop = plane.running()
    await plane.clock.advance(60_000)
    expect(plane.at.titles()).toEqual(['Now'])
    await stop()
  })

  it('leaves nothing of a target that is deleted while a notification is queued', async () => {
    const store = interruptibleStore(openSqliteStore(':memory:'))
    const { put, target, brokenAt, clock, running, send } = aPlane(receivers(), { store })
    const { id } = await target()
    await put('sessions', brokenAt({ id: 'ls-1' }))
    const remove = () => send('DELETE', `notification-targets/${id}`)
    store.interrupt({ kind: 'notification', write: 'insert', when: 'before', run: remove })
    const stop = running()
    await clock.advance(SOON_MS)
    await stop()
    expect((await send('GET', 'notification-targets')).json.items).toEqual([])
    expect((await send('GET', 'notifications')).json.items).toEqual([])
  })

  it('leaves nothing of a target that is deleted during an attempt', async () => {
    const plane = aPlane()
    const { id } = await plane.target()
    await plane.target({ name: 'other', url: 'https://other.example/' })
    plane.at.answer('hooks.example.com', 'hang')
    const stop = plane.running()
    await plane.put('sessions', plane.brokenAt({ id: 'ls-1' }))
    while (plane.at.requests.length < 2) await plane.clock.advance(1_000)
    expect((await plane.send('DELETE', `notification-targets/${id}`)).status).toBe(204)
    await plane.clock.advance(60_000)
    expect((await plane.all('targetHealth')).map(health => health.id)).not.toContain(id)
    await stop()
  })

  it('ends with its target', async () => {
    const plane = aPlane()
    const { id } = await plane.target()
    await plane.target({ name: 'other', url: 'https://other.example/' })
    plane.at.answer('hooks.example.com', ...Array.from({ length: 100 }, () => 500))
    const stop = plane.running()
    await broken(plane)
    const attempts = () => plane.at.requests.filter(({ host }) => host === 'hooks.example.com').length
    const before = attempts()
    expect((await plane.send('DELETE', `notification-targets/${id}`)).status).toBe(204)
    await plane.clock.advance(60 * 60_000)
    expect([before > 0, attempts()]).toEqual([true, before])
    expect(await plane.all('secrets')).toHaveLength(1)
    expect((await notifications(plane)).map((each: { target_name: string }) => each.target_name)).toEqual(['other'])
    await stop()
  })

  it('continues with its sealed address after the key was rotated, and nothing shows the address', async () => {
    const plane = aPlane()
    await plane.target({ signing_key: KEY })
    while (!(await plane.send('POST', 'secret-key/rotate')).json.done) await plane.clock.advance(0)
    const stop = plane.running()
    await broken(plane)
    expect(plane.at.requests).toHaveLength(1)
    expect(plane.at.requests[0]?.headers.get('webhook-signature')).toMatch(/^v1,/)
    const texts = [await plane.all('notificationTargets'), await plane.all('secrets'), await plane.all('notifications')]
    const audit = (await plane.send('GET', 'audit')).json
    for (const secret of ['secret-path', KEY]) expect(JSON.stringify([texts, audit])).not.toContain(secret)
    await stop()
  })

  it('is counted', async () => {
    const plane = aPlane()
    await plane.target()
    plane.at.answer('hooks.example.com', 500, 410)
    const stop = plane.running()
    await broken(plane)
    await plane.clock.advance(60_000)
    await broken(plane, 'ls-2')
    const metrics = (await plane.send('GET', '/metrics')).body
    for (const [outcome, value] of [
      ['failed', 1],
      ['dead', 1],
      ['delivered', 1],
    ])
      expect(metrics).toContain(`lcm_notifications_total{target_type="webhook",outcome="${outcome}"} ${value}`)
    expect(metrics).toContain('lcm_notifications_queued 0\n')
    expect(metrics).toContain('lcm_notifications_dead 1\n')
    await stop()
  })
})

describe('with several replicas', () => {
  it('one notifies, and another continues when it stops', async () => {
    const store = openSqliteStore(':memory:')
    const first = aPlane(receivers(), { store })
    await first.target()
    const { clock, at } = first
    const second = aPlane(at, { store, clock, seed: 2 })
    const [stopFirst, stopSecond] = [first.running(), second.running()]
    await first.put('sessions', first.brokenAt({ id: 'ls-1' }))
    await clock.advance(SOON_MS)
    await stopFirst()
    await first.put('sessions', first.brokenAt({ id: 'ls-2' }))
    await clock.advance(SOON_MS)
    expect(at.subjects()).toEqual([['session:ls-1'], ['session:ls-2']])
    await stopSecond()
  })

  it.each([
    ['', {}],
    [', after the changes expired', { position: 'expired' }],
  ])('another notifies of what happened while none ran, also of sessions that are over%s', async (_, reader) => {
    const store = openSqliteStore(':memory:')
    const first = aPlane(receivers(), { store })
    await first.target()
    const { clock, at } = first
    const stop = first.running()
    await first.put('sessions', first.session({ id: 'ls-1' }))
    await clock.advance(SOON_MS)
    await stop()
    const ready = {
      from: 'INSTANTIATING',
      to: 'READY',
      at: first.later(-60_000),
      because: reason('lab_ready'),
    } as const
    const end = { from: 'RUNNING', to: 'STOPPING', at: first.later(0), because: reason('worker_deleted') } as const
    await first.edit('sessions', 'ls-1', { status: 'STOPPING', state_history: [ready, end] })
    await first.edit('sessions', 'ls-1', { status: 'TERMINATED' })
    await first.edit('feedReaders', 'notifications', reader)
    const stopSecond = aPlane(at, { store, clock, seed: 2 }).running()
    await clock.advance(SOON_MS)
    expect(at.titles()).toEqual(['Lab two-routers of Ann ended early'])
    await stopSecond()
  })
})

describe('a crash', () => {
  /** Writes of the run, and how many there are at least. */
  const steps = [
    ['webhook', 'insert', 1],
    ['webhook', 'replace', 3],
    ['notification', 'insert', 3],
    ['notification', 'replace', 3],
    ['target_health', 'insert', 2],
    ['target_health', 'replace', 2],
  ] as const
  const cases = steps.flatMap(([kind, write, count]) =>
    (['before', 'after'] as const).flatMap(when =>
      Array.from({ length: count }, (_, skip) => ({ kind, write, when, skip })),
    ),
  )

  it.each(cases)('$when $write $skip of a $kind loses nothing and repeats one delivery at most', async interruption => {
    const store = interruptibleStore(openSqliteStore(':memory:'))
    const plane = aPlane(receivers(), { store })
    await plane.target({ name: 'one' })
    await plane.target({ name: 'two', url: 'https://two.example/' })
    const { clock, at } = plane
    let stop = plane.running()
    let replicas = 1
    // The process dies, and another one starts.
    store.interrupt({
      ...interruption,
      run: () => {
        const ended = stop()
        replicas += 1
        stop = aPlane(at, { store, clock, seed: replicas }).running()
        ended.catch(() => undefined)
        crash()
      },
    })
    const breakDown = async (id: string, more: Partial<LabletSession> = {}) => {
      await plane.put('sessions', plane.brokenAt({ id, ...more }))
      await clock.advance(SOON_MS)
    }
    await breakDown('ls-1')
    await breakDown('ls-2')
    await breakDown('ls-3')
    await clock.advance(10 * 60_000)
    expect(replicas).toBe(2)
    let repeated = 0
    for (const host of ['hooks.example.com', 'two.example']) {
      const received = at.requests.filter(each => each.host === host).map(({ body }) => JSON.parse(body))
      // A repeated delivery has the same id, so that the receiver can recognize it.
      const byId = new Map<string, string[]>(received.map(({ id, data }) => [id, data.subjects]))
      expect([...byId.values()].flat()).toEqual(['session:ls-1', 'session:ls-2', 'session:ls-3'])
      repeated += received.length - byId.size
    }
    expect(repeated).toBeLessThanOrEqual(1)
    await stop()
  })
})
