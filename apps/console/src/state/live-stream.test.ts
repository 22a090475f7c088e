import { aControlPlane } from '@lcm/testkit/a-control-plane'
import { aSession, aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { effect } from '@preact/signals'
import { afterEach, describe, expect, it } from 'vitest'
import { ConsoleApi } from '../testing/console-api-fixture.ts'
import { aDecision } from '../testing/decision-builder.ts'
import { liveState } from './live-state.ts'
import { liveStream } from './live-stream.ts'

const stopped: AbortController[] = []
afterEach(() => {
  for (const controller of stopped.splice(0)) controller.abort()
})

/** A console that has just been opened on an API with three workers. */
async function openConsole(prepare: (api: ConsoleApi) => unknown = () => undefined) {
  const api = new ConsoleApi()
  for (const n of [1, 2, 3]) await api.insertWorker(`w-${n}`, 5)
  await prepare(api)
  const { clock } = api.plane
  const state = liveState()
  const stream = liveStream({ transport: api.transport, clock, state })
  const stop = new AbortController()
  stopped.push(stop)
  const ended = stream.run(stop.signal)
  await clock.advance(0)
  const serverNow = () => clock.now() + state.clockSkewMs.value
  return { api, clock, state, stream, stop, ended, serverNow, connection: () => state.connection.value }
}

/** An API that knows only an older version of one worker takes its place. */
async function restoreBackup(api: ConsoleApi): Promise<void> {
  api.plane = aControlPlane()
  await api.insertWorker('w-1', 2)
}

const versions = (state: ReturnType<typeof liveState>) =>
  Object.fromEntries([...state.live.worker.all()].map(([id, worker]) => [id, worker.version]))

describe('reading and following', () => {
  it('reads every page, with terminated workers, and is live from the first list on', async () => {
    const { api, state, connection } = await openConsole(each => each.plane.put('templates', aTemplate()))
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5, 'w-3': 5 })
    expect([...state.live.template.all().keys()]).toEqual(['wt-1'])
    expect(state.info.value?.cloud).toBe('sim')
    const { requests } = api.plane
    expect(requests.map(({ route }) => route)).toEqual([
      'info',
      'listWorkers',
      'listWorkers',
      'listTemplates',
      'listDefinitions',
      'listSessions',
      'listLabs',
      'events',
    ])
    expect(requests[1]?.query.get('include_terminated')).toBe('true')
    expect(requests[2]?.query.get('cursor')).not.toBeNull()
    expect(api.openedAfter()).toEqual([expect.any(String)])
    expect(connection()).toEqual({ state: 'live' })
  })

  it('stores every kind, records measurements and publishes live updates', async () => {
    const { api, clock, state } = await openConsole()
    const at = '2026-01-02T03:04:05.000Z'
    const count = state.updates.count('settings')
    const { plane } = api
    await plane.put('sessions', aSession({ id: 'ls-1' }), aSession({ id: 'ls-2' }))
    await clock.advance(0)
    expect([...state.live.session.all().keys()]).toEqual(['ls-1', 'ls-2'])
    await plane.remove('sessions', 'ls-2')
    await plane.set({ min_workers: 1 })
    plane.say({
      type: 'metrics.batch',
      at,
      data: [{ worker_id: 'w-1', sample: { collected_at: at, cpu_utilization: 40 } }],
    })
    plane.say({ type: 'decision', id: 'd-1', at, data: aDecision({ id: 'd-1' }) })
    plane.say({ type: 'something.new', id: 'x', version: 1, at, data: {} })
    await clock.advance(0)
    expect([...state.live.session.all().keys()]).toEqual(['ls-1'])
    expect(state.samples.of('w-1').cpu).toEqual([40])
    expect(state.updates.count('settings')).toBe(count + 1)
    expect(state.decisions.all().map(({ id }) => id)).toEqual(['d-1'])
  })

  it('sets the live state once, not with every event', async () => {
    const { api, clock, state } = await openConsole()
    const states: string[] = []
    const unsubscribe = state.connection.subscribe(connection => states.push(connection.state))
    await api.plane.edit('workers', 'w-2', { cordoned: true })
    await clock.advance(0)
    unsubscribe()
    expect(states).toEqual(['live'])
  })

  it('applies changes', async () => {
    const { api, clock, state } = await openConsole()
    await api.plane.edit('workers', 'w-2', { status: 'RUNNING' })
    await api.insertWorker('w-4', 1)
    await api.plane.remove('workers', 'w-3')
    await clock.advance(0)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 6, 'w-4': 1 })
    expect(state.live.worker.get('w-2')?.status).toBe('RUNNING')
  })

  it('never lets older data overwrite newer', async () => {
    const { api, clock, state } = await openConsole()
    const late = aWorker({ id: 'w-1', version: 4, status: 'FAILED' })
    api.plane.say({ type: 'worker.updated', id: 'w-1', version: 4, data: late }, '101')
    api.plane.say({ type: 'worker.deleted', id: 'w-2', version: 4, data: null }, '102')
    await api.plane.remove('workers', 'w-3')
    await clock.advance(0)
    api.plane.say({ type: 'worker.updated', id: 'w-3', version: 5, data: aWorker({ id: 'w-3', version: 5 }) }, '104')
    await clock.advance(0)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5 })
    expect(state.live.worker.get('w-1')?.status).toBe('PENDING')
  })

  it('ignores unknown kinds of events', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.plane.say({ type: 'quota.created', id: 'q-1', version: 1, data: {} }, '101')
    await api.plane.edit('workers', 'w-1', { cordoned: true })
    await clock.advance(0)
    expect(state.live.worker.get('w-1')?.version).toBe(6)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('reloads everything on a reset and drops deleted resources', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.plane.mute(true)
    await api.plane.remove('workers', 'w-2')
    await api.plane.edit('workers', 'w-1', { cordoned: true })
    await clock.advance(0)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5, 'w-3': 5 })
    api.plane.mute(false)
    api.plane.say({ type: 'reset' })
    await clock.advance(0)
    expect(connection()).toMatchObject({ state: 'reconnecting' })
    await clock.advance(1_000)
    expect(versions(state)).toEqual({ 'w-1': 6, 'w-3': 5 })
    expect(connection()).toEqual({ state: 'live' })
  })

  it('accepts lower versions after a reset, as from a restored backup', async () => {
    const { api, clock, state } = await openConsole()
    const { plane: before } = api
    await restoreBackup(api)
    before.breakStreams()
    await clock.advance(3_000)
    expect(versions(state)).toEqual({ 'w-1': 2 })
  })

  it('ends when its signal aborts', async () => {
    const { stop, ended } = await openConsole()
    stop.abort()
    await expect(ended).resolves.toBeUndefined()
  })
})

describe('a broken stream', () => {
  it('is resumed after a second from where it broke, without a new list', async () => {
    const { api, clock, connection, serverNow } = await openConsole()
    await api.plane.edit('workers', 'w-1', { cordoned: true })
    await clock.advance(0)
    const requests = api.plane.requests.length
    const { revision } = await api.plane.others().call('listWorkers', {})
    api.plane.breakStreams()
    await clock.advance(0)
    expect(connection()).toEqual({
      state: 'reconnecting',
      because: 'the event stream ended',
      retryAtMs: serverNow() + 1_000,
    })
    await clock.advance(1_000)
    expect(api.openedAfter()[1]).toBe(revision)
    expect(api.plane.requests).toHaveLength(requests + 1)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('is detected after 40 s of silence; heartbeats prevent that', async () => {
    const { api, clock, connection } = await openConsole()
    await clock.advance(5 * 60_000)
    expect(connection()).toEqual({ state: 'live' })
    api.plane.mute(true)
    await clock.advance(24_000)
    expect(connection()).toEqual({ state: 'live' })
    await clock.advance(16_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: 'the event stream fell silent' })
  })

  it('is retried after 1, 2, 4, 8, 10 and 10 s', async () => {
    const { api, clock, connection, serverNow } = await openConsole()
    const waits: number[] = []
    api.plane.fail({ effect: 'unreachable' })
    api.plane.breakStreams()
    for (let attempt = 0; attempt < 6; attempt++) {
      await clock.advance(0)
      const now = connection()
      const waitMs = 'retryAtMs' in now ? now.retryAtMs - serverNow() : 0
      waits.push(waitMs / 1000)
      await clock.advance(waitMs)
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
  })

  it('is retried at once on request', async () => {
    const { api, clock, stream, connection } = await openConsole()
    api.plane.breakStreams()
    await clock.advance(0)
    stream.retryNow()
    await clock.advance(0)
    expect(connection()).toEqual({ state: 'live' })
  })
})

describe('without a stream', () => {
  it('polls the lists after four failures, and follows again when it can', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.plane.fail({ route: 'events', effect: 'too_many_clients' })
    api.plane.breakStreams()
    await clock.advance(1_000 + 2_000 + 4_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: expect.stringContaining('too_many_clients') })
    await api.plane.edit('workers', 'w-1', { cordoned: true })
    await clock.advance(8_000)
    expect(state.live.worker.get('w-1')?.version).toBe(6)
    expect(connection()).toMatchObject({ state: 'polling', because: expect.stringContaining('too_many_clients') })
    api.plane.heal()
    await clock.advance(10_000)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('accepts lower versions while polling, as from a restored backup', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.plane.fail({ route: 'events', effect: 'too_many_clients' })
    api.plane.breakStreams()
    await restoreBackup(api)
    api.plane.fail({ route: 'events', effect: 'too_many_clients' })
    await clock.advance(1_000 + 2_000 + 4_000 + 8_000)
    expect(connection()).toMatchObject({ state: 'polling' })
    expect(versions(state)).toEqual({ 'w-1': 2 })
  })

  it('is offline when lists fail too, and shows since when', async () => {
    const { api, clock, state, connection } = await openConsole()
    const heardAtMs = state.lastMessageAtMs.value
    const shown = new Set<string>()
    effect(() => void shown.add(state.connection.value.state))
    api.plane.fail({ effect: 'unreachable' })
    api.plane.breakStreams()
    await clock.advance(60_000)
    expect(connection()).toMatchObject({ state: 'offline', because: 'connection refused' })
    expect([...shown]).toEqual(['live', 'reconnecting', 'offline'])
    expect(state.lastMessageAtMs.value).toBe(heardAtMs)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5, 'w-3': 5 })
  })

  it('does not treat a stream as live that opens but delivers nothing', async () => {
    const { api, clock, connection } = await openConsole(each => each.plane.mute(true))
    expect(connection()).toEqual({ state: 'connecting' })
    await clock.advance(20_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: 'the event stream fell silent' })
    await clock.advance(120_000)
    expect(connection()).toMatchObject({ state: 'polling' })
    api.plane.mute(false)
    await clock.advance(30_000)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('retries when the API is unreachable from the start', async () => {
    const { api, clock, state, connection } = await openConsole(each => each.plane.fail({ effect: 'unreachable' }))
    expect(connection()).toMatchObject({ state: 'reconnecting' })
    expect(state.info.value).toBeNull()
    api.plane.heal()
    await clock.advance(1_000)
    expect(connection()).toEqual({ state: 'live' })
    expect(state.live.worker.all().size).toBe(3)
  })
})

describe('signed out', () => {
  it('waits for a login and then reloads everything', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.role = null
    api.plane.breakStreams()
    await clock.advance(1_000)
    expect(connection()).toEqual({ state: 'signed-out', signIn: null })
    const own = { audience: 'lcm', clientId: 'console', roleClaim: 'role', scopes: 'openid' }
    const oidc = { ...own, issuer: 'https://id.example' }
    api.plane = aControlPlane({ oidc, fetch: () => Promise.reject(new Error('this test has no network')) })
    await clock.advance(60_000)
    expect(connection()).toEqual({ state: 'signed-out', signIn: '/login/provider' })
    api.role = 'user'
    await clock.advance(5_000)
    expect(connection()).toEqual({ state: 'live' })
    expect(state.info.value?.actor.role).toBe('user')
  })
})
