import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Logger } from '@lcm/runtime'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import type { Document, Kind, Store } from '@lcm/store/store'
import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { seededRandom } from '@lcm/testkit/seeded-random'
import { describe, expect, it } from 'vitest'
import type { ControlPlaneParts } from '../../control-plane.ts'

const URL_WITH_SECRETS = 'https://mona:pass-word@hooks.example/path-secret?key=query-secret#fragment-secret'

type Answer = (signal: AbortSignal) => Promise<number>

/** A receiver in memory. It accepts everything unless other responses are given. */
function aReceiver() {
  const got: { at: number; id: string; event: string; headers: Record<string, string>; url: string }[] = []
  const answers: Answer[] = []
  let now = () => 0
  const fetch: typeof globalThis.fetch = async (input, { body, headers, signal } = {}) => {
    const { id, type, subject } = JSON.parse(String(body))
    const named = Object.fromEntries(new Headers(headers))
    got.push({ at: now(), id, event: `${type} ${subject}`, headers: named, url: String(input) })
    const status = await (answers.shift() ?? (async () => 200))(signal ?? new AbortController().signal)
    return new Response(null, { status })
  }
  return {
    fetch,
    got,
    events: () => got.map(({ event }) => event),
    next: (...more: (number | Answer)[]) =>
      void answers.push(...more.map(each => (typeof each === 'number' ? async () => each : each))),
    onClock: (clock: { now(): number }) => {
      const start = clock.now()
      now = () => clock.now() - start
    },
  }
}

const never: Answer = signal =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

function aLog() {
  const lines: string[] = []
  const note = (fields: object, message: string) =>
    void lines.push(
      JSON.stringify({ ...fields, message }, (_, value) => (value instanceof Error ? textOf(value) : value)),
    )
  const log: Logger = { debug: note, info: note, warn: note, error: note, child: fields => withFields(log, fields) }
  return { log, lines }
}
const textOf = (error: Error): string => `${error.stack} ${error.cause instanceof Error ? textOf(error.cause) : ''}`
const withFields = (log: Logger, bound: object): Logger => ({
  debug: (fields, message) => log.debug({ ...bound, ...fields }, message),
  info: (fields, message) => log.info({ ...bound, ...fields }, message),
  warn: (fields, message) => log.warn({ ...bound, ...fields }, message),
  error: (fields, message) => log.error({ ...bound, ...fields }, message),
  child: fields => withFields(log, { ...bound, ...fields }),
})

interface Given extends Partial<ControlPlaneParts> {
  readonly receiver?: ReturnType<typeof aReceiver>
  readonly url?: string
  readonly token?: string
  /** Replicas and restarts use different random bytes. */
  readonly seed?: number
}

/** A control plane whose webhook runs until it is stopped. */
async function running({ receiver = aReceiver(), url = URL_WITH_SECRETS, token, seed = 1, ...parts }: Given = {}) {
  const { log, lines } = aLog()
  const random = seededRandom(seed)
  const plane = aControlPlane({
    log,
    randomBytes: size => random.bytes(size),
    webhook: { url, token: token ?? null, source: '/lcm/lab', fetch: receiver.fetch },
    ...parts,
  })
  const clock = parts.clock === undefined ? plane.clock : null
  if (clock !== null) receiver.onClock(clock)
  const stop = new AbortController()
  const service = plane.services.find(({ name }) => name === 'webhook')
  const ended = service?.run(stop.signal)
  await clock?.advance(0)
  return {
    ...plane,
    receiver,
    lines,
    async stop() {
      stop.abort()
      await ended
    },
  }
}
type Running = Awaited<ReturnType<typeof running>>

const changed = async (plane: Running, name: string): Promise<string> => {
  const { id } = await plane.create({ name })
  await plane.clock.advance(0)
  return id
}

describe('a webhook', () => {
  it('receives every change since its first start, in order', async () => {
    const receiver = aReceiver()
    const store = openSqliteStore(':memory:')
    await aControlPlane({ store }).create({ name: 'before' })
    const plane = await running({ receiver, store })
    const id = await changed(plane, 'after')
    await plane.send('POST', `workers/${id}/stop`)
    await plane.clock.advance(0)
    await plane.send('PATCH', 'settings', { json: { min_workers: 2 } })
    await plane.clock.advance(0)
    expect(receiver.events()).toEqual([
      `io.lablet.worker.created ${id}`,
      `io.lablet.worker.updated ${id}`,
      expect.stringMatching(/^io\.lablet\.settings\.\w+ /),
    ])
    const ids = receiver.got.map(event => Number(event.id))
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
    await plane.stop()
  })

  it('is retried until it accepts an event, before any later event', async () => {
    const plane = await running()
    const { receiver } = plane
    await changed(plane, 'first')
    receiver.got.length = 0
    receiver.next(503, 500, 408, 429, 302, async () => Promise.reject(new TypeError('fetch failed')))
    const one = await changed(plane, 'one')
    const two = await changed(plane, 'two')
    await plane.clock.advance(200_000)
    const tries = receiver.got.filter(({ event }) => event.endsWith(one))
    expect(tries.map(({ at }) => at)).toEqual([0, 1, 3, 7, 15, 31, 63].map(seconds => seconds * 1000))
    expect(receiver.events().slice(-1)).toEqual([`io.lablet.worker.created ${two}`])
    expect(receiver.got).toHaveLength(8)
    expect(new Set(tries.map(({ id }) => id)).size).toBe(1)
    await plane.stop()
  })

  it('is retried every five minutes without limit', async () => {
    const plane = await running()
    plane.receiver.next(...Array.from({ length: 50 }, () => 503))
    await changed(plane, 'one')
    await plane.clock.advance(4 * 3_600_000)
    const at = plane.receiver.got.map(each => each.at)
    expect(at.length).toBeGreaterThan(50)
    expect((at[40] ?? 0) - (at[39] ?? 0)).toBe(300_000)
    await plane.stop()
  })

  it('is not retried for a refused event, which is logged', async () => {
    const plane = await running()
    await changed(plane, 'first')
    plane.receiver.next(400, 410)
    const ids = [await changed(plane, 'one'), await changed(plane, 'two'), await changed(plane, 'three')]
    expect(plane.receiver.events().slice(-3)).toEqual(ids.map(id => `io.lablet.worker.created ${id}`))
    expect(plane.lines.filter(line => line.includes('dropped')).map(line => JSON.parse(line).reason)).toEqual([
      'status 400',
      'status 410',
    ])
    await plane.stop()
  })

  it('that does not respond times out after five seconds, and delays nothing else', async () => {
    const plane = await running()
    plane.receiver.next(never, never)
    const id = await changed(plane, 'one')
    expect((await plane.send('POST', `workers/${id}/stop`)).status).toBe(202)
    expect((await plane.send('GET', 'workers')).json.items).toHaveLength(1)
    await plane.clock.advance(60_000)
    expect(plane.receiver.got.slice(0, 3).map(({ at }) => at)).toEqual([0, 6_000, 13_000])
    expect(plane.lines[0]).toContain('no answer within 5 s')
    await plane.stop()
  })

  it('whose address is refused is retried, and the log says what to do', async () => {
    const plane = await running()
    const cause = Object.assign(new Error('the address of hooks.example is not public'), { code: 'ADDRESS_REFUSED' })
    plane.receiver.next(async () => Promise.reject(new TypeError('fetch failed', { cause })))
    const id = await changed(plane, 'one')
    await plane.clock.advance(60_000)
    expect(plane.lines[0]).toContain('list its host in LCM_OUTBOUND_PRIVATE_HOSTS')
    expect(plane.receiver.events().at(-1)).toBe(`io.lablet.worker.created ${id}`)
    await plane.stop()
  })

  it('stops at once, even while it waits for a response', async () => {
    const plane = await running()
    plane.receiver.next(never)
    await changed(plane, 'one')
    await plane.stop()
    expect(plane.clock.timersLeft()).toBe(0)
  })

  it('continues from now when changes have expired, and logs it', async () => {
    const store = openSqliteStore(':memory:')
    await aControlPlane({ store }).create({ name: 'before' })
    await states(store).insert({ id: 'webhook', version: 1, position: 'of another time', lease: null })
    const plane = await running({ store })
    const id = await changed(plane, 'after')
    expect(plane.receiver.events()).toEqual([`io.lablet.worker.created ${id}`])
    expect(plane.lines.join()).toContain('it continues from now')
    await plane.stop()
  })

  it('never logs its credentials', async () => {
    const receiver = aReceiver()
    const leak = async () => Promise.reject(new TypeError(`no credentials in ${URL_WITH_SECRETS}`))
    const plane = await running({ receiver, token: 'bearer-secret' })
    receiver.next(leak, 500, never, 404)
    await changed(plane, 'one')
    await plane.clock.advance(60_000)
    await plane.stop()
    expect(plane.lines.length).toBeGreaterThanOrEqual(4)
    expect(plane.lines.join()).toContain('hooks.example')
    for (const secret of ['mona', 'pass-word', 'path-secret', 'query-secret', 'fragment-secret', 'bearer-secret'])
      expect(plane.lines.join(), secret).not.toContain(secret)
  })

  it('sends the token, or else the credentials of its URL', async () => {
    const plane = await running({ token: 'bearer-secret' })
    await changed(plane, 'one')
    expect(plane.receiver.got[0]).toMatchObject({
      url: 'https://hooks.example/path-secret?key=query-secret#fragment-secret',
      headers: { authorization: 'Bearer bearer-secret', 'content-type': 'application/cloudevents+json' },
    })
    await plane.stop()
    const other = await running()
    await changed(other, 'one')
    const basic = `Basic ${Buffer.from('mona:pass-word').toString('base64')}`
    expect(other.receiver.got[0]?.headers.authorization).toBe(basic)
    await other.stop()
    const open = await running({ url: 'http://localhost:1/%' })
    await changed(open, 'one')
    expect(open.receiver.got[0]?.headers).not.toHaveProperty('authorization')
    await open.stop()
  })
})

interface State extends Document {
  readonly position: string
  readonly lease: { readonly holder: string; readonly until: string } | null
}
const STATES: Kind<State> = {
  name: 'webhook',
  parse: body => Object(body),
  announced: false,
}
const states = (store: Store) => store.collection(STATES)

/** The same store, until this process freezes: then none of its requests finishes. */
function freezable(store: Store) {
  let isFrozen = false
  const held = <T>(work: Promise<T>): Promise<T> =>
    work.then(value => (isFrozen ? new Promise<T>(() => undefined) : value))
  const frozenStore: Store = {
    ...store,
    collection(kind) {
      const real = store.collection(kind)
      if (kind.name !== 'webhook') return real
      const begin = <T>(work: () => Promise<T>) => (isFrozen ? new Promise<T>(() => undefined) : held(work()))
      return {
        get: id => begin(() => real.get(id)),
        list: query => begin(() => real.list(query)),
        insert: (...args) => begin(() => real.insert(...args)),
        replace: (...args) => begin(() => real.replace(...args)),
        remove: (...args) => begin(() => real.remove(...args)),
      }
    },
  }
  return {
    store: frozenStore,
    freeze: () => {
      isFrozen = true
    },
  }
}

describe('after a restart', () => {
  it('continues where it was, without gaps or duplicates', async () => {
    const first = await running()
    const one = await changed(first, 'one')
    await first.stop()
    const two = await changed(first, 'two')
    const { receiver, store, clock } = first
    const second = await running({ receiver, store, clock, seed: 2 })
    await clock.advance(0)
    const three = await changed(first, 'three')
    expect(receiver.events().filter(event => event.includes('worker'))).toEqual(
      [one, two, three].map(id => `io.lablet.worker.created ${id}`),
    )
    await second.stop()
  })
})

describe('with several replicas', () => {
  it('one delivers, and another continues when it stops', async () => {
    const receiver = aReceiver()
    const first = await running({ receiver })
    const { store, clock } = first
    const second = await running({ receiver, store, clock, seed: 2 })
    const ids = [await changed(first, 'one'), await changed(first, 'two')]
    await clock.advance(120_000)
    ids.push(await changed(first, 'three'))
    await first.stop()
    ids.push(await changed(first, 'four'))
    await clock.advance(5_000)
    ids.push(await changed(first, 'five'))
    const events = receiver.events().filter(event => event.includes('worker'))
    expect(events).toEqual(ids.map(id => `io.lablet.worker.created ${id}`))
    await second.stop()
  })

  it('another continues 30 s after one froze, and repeats at most its last event', async () => {
    const receiver = aReceiver()
    const inner = openSqliteStore(':memory:')
    const frozen = freezable(inner)
    const first = await running({ receiver, store: frozen.store })
    const { clock } = first
    const second = await running({ receiver, store: inner, clock, seed: 2 })
    const one = await changed(first, 'one')
    // The event is delivered, and the replica freezes before it stores the position.
    receiver.next(async () => {
      frozen.freeze()
      return 200
    })
    const two = await changed(first, 'two')
    const three = await changed(first, 'three')
    await clock.advance(29_000)
    expect(receiver.events().at(-1)).toContain(two)
    await clock.advance(6_000)
    expect(receiver.events().filter(event => event.includes('worker'))).toEqual(
      [one, two, two, three].map(id => `io.lablet.worker.created ${id}`),
    )
    const [again, before] = [receiver.got.at(-2), receiver.got.at(-3)]
    expect(again?.id).toBe(before?.id)
    await second.stop()
  })

  it('a replica that lost the lease stops delivering', async () => {
    const receiver = aReceiver()
    const first = await running({ receiver })
    const { store, clock } = first
    await changed(first, 'one')
    const held = await states(store).get('webhook')
    const lease = { holder: 'another', until: new Date(clock.now() + 30_000).toISOString() }
    if (held) await states(store).replace({ ...held, version: held.version + 1, lease })
    const before = receiver.got.length
    await changed(first, 'two')
    await changed(first, 'three')
    // It was delivering one event, and noticed the other replica when it stored the position.
    expect(receiver.got.length - before).toBeLessThanOrEqual(1)
    await clock.advance(36_000)
    expect(receiver.events().at(-1)).toContain('worker.created')
    expect(receiver.got.length - before).toBeGreaterThanOrEqual(2)
    await first.stop()
  })

  it('does not wait for a clock that was far ahead', async () => {
    const store = openSqliteStore(':memory:')
    const lease = { holder: 'dead', until: '2099-01-01T00:00:00.000Z' }
    await states(store).insert({ id: 'webhook', version: 1, position: '0', lease })
    const plane = await running({ store })
    const id = await changed(plane, 'one')
    await plane.clock.advance(29_000)
    expect(plane.receiver.got).toEqual([])
    await plane.clock.advance(6_000)
    expect(plane.receiver.events().at(-1)).toBe(`io.lablet.worker.created ${id}`)
    await plane.stop()
  })
})

it('speaks HTTP', async () => {
  const seen: { request: IncomingMessage; body: string }[] = []
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ request, body })
    response.writeHead(seen.length === 1 ? 503 : 204).end()
    server.emit('received')
  }
  const server = createServer((request, response) => void receive(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const url = `http://127.0.0.1:${port}/hook?a=b`
  const plane = await running({ url, token: 'bearer-secret', receiver: { ...aReceiver(), fetch: globalThis.fetch } })

  const received = once(server, 'received')
  const template = await plane.send('POST', 'worker-templates', {
    json: {
      name: 'metal',
      instance_types: ['m5zn.metal'],
      ami_name_pattern: 'cml-*',
      ami_owner: 'self',
      capacity: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 100 },
      cost_per_hour_usd: 4,
    },
  })
  await received
  const repeated = once(server, 'received')
  await expect.poll(() => plane.lines.length).toBe(1)
  await plane.clock.advance(1_000)
  await repeated
  await plane.stop()
  server.close()
  server.closeAllConnections()

  expect(seen.map(({ request }) => `${request.method} ${request.url}`)).toEqual(['POST /hook?a=b', 'POST /hook?a=b'])
  expect(seen[1]?.request.headers).toMatchObject({
    authorization: 'Bearer bearer-secret',
    'content-type': 'application/cloudevents+json',
  })
  expect(seen[1]?.body).toBe(seen[0]?.body)
  expect(JSON.parse(seen[1]?.body ?? '')).toEqual({
    specversion: '1.0',
    id: expect.stringMatching(/^\d+$/),
    source: '/lcm/lab',
    type: 'io.lablet.template.created',
    subject: template.json.id,
    time: template.json.updated_at,
    datacontenttype: 'application/json',
    data: template.json,
  })
})
