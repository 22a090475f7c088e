import { aSession, aTemplate, aWorker } from '@lcm/testkit/builders'
import { manualClock } from '@lcm/testkit/manual-clock'
import { effect } from '@preact/signals'
import { afterEach, describe, expect, it } from 'vitest'
import { aDecision } from '../testing/decision-builder.ts'
import { FakeApi } from '../testing/fake-api.ts'
import { liveState } from './live-state.ts'
import { liveStream } from './stream.ts'

const stopped: AbortController[] = []
afterEach(() => {
  for (const controller of stopped.splice(0)) controller.abort()
})

/** A console that has just been opened on an API with three workers. */
async function openConsole(prepare: (api: FakeApi) => void = () => undefined) {
  const api = new FakeApi()
  for (const n of [1, 2, 3]) api.workers.set(`w-${n}`, aWorker({ id: `w-${n}`, name: `metal-${n}`, version: 5 }))
  prepare(api)
  const clock = manualClock()
  const state = liveState()
  const stream = liveStream({ transport: api.transport, clock, state })
  const stop = new AbortController()
  stopped.push(stop)
  const ended = stream.run(stop.signal)
  await clock.advance(0)
  const serverNow = () => clock.now() + state.clockSkewMs.value
  return { api, clock, state, stream, stop, ended, serverNow, connection: () => state.connection.value }
}

const versions = (state: ReturnType<typeof liveState>) =>
  Object.fromEntries([...state.live.worker.all()].map(([id, worker]) => [id, worker.version]))

describe('reading and following', () => {
  it('reads every page, with terminated workers, and is live from the first list on', async () => {
    const { api, state, connection } = await openConsole(each => each.templates.push(aTemplate()))
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5, 'w-3': 5 })
    expect([...state.live.template.all().keys()]).toEqual(['wt-1'])
    expect(state.info.value?.cloud).toBe('sim')
    expect(api.requests).toEqual([
      'GET /info',
      'GET /workers?limit=250&include_terminated=true',
      'GET /workers?limit=250&cursor=2&include_terminated=true',
      'GET /worker-templates?limit=250',
      'GET /lablet-definitions?limit=250',
      'GET /lablet-sessions?limit=250',
      'GET /lab-records?limit=250',
    ])
    expect(api.openedAfter).toEqual(['100'])
    expect(connection()).toEqual({ state: 'live' })
  })

  it('keeps every kind, takes measurements and passes on news', async () => {
    const { api, clock, state } = await openConsole()
    const at = '2026-01-02T03:04:05.000Z'
    const heard = state.updates.count('settings')
    api.announce({ type: 'session.created', id: 'ls-1', version: 1, at, data: aSession({ id: 'ls-1', version: 1 }) })
    api.announce({ type: 'session.updated', id: 'ls-2', version: 4, at, data: aSession({ id: 'ls-2', version: 4 }) })
    api.announce({ type: 'session.deleted', id: 'ls-2', version: 5, at, data: null })
    api.say({
      type: 'metrics.batch',
      at,
      data: [{ worker_id: 'w-1', sample: { collected_at: at, cpu_utilization: 40 } }],
    })
    api.say({ type: 'settings.updated', id: 'settings', version: 2, at, data: {} })
    api.say({ type: 'decision', id: 'd-1', at, data: aDecision({ id: 'd-1' }) })
    api.say({ type: 'something.new', id: 'x', version: 1, at, data: {} })
    await clock.advance(0)
    expect([...state.live.session.all().keys()]).toEqual(['ls-1'])
    expect(state.samples.of('w-1').cpu).toEqual([40])
    expect(state.updates.count('settings')).toBe(heard + 1)
    expect(state.decisions.all().map(({ id }) => id)).toEqual(['d-1'])
  })

  it('sets the live state once, not with every event', async () => {
    const { api, clock, state } = await openConsole()
    const told: string[] = []
    const unsubscribe = state.connection.subscribe(connection => told.push(connection.state))
    api.put(aWorker({ id: 'w-2', version: 6 }))
    await clock.advance(0)
    unsubscribe()
    expect(told).toEqual(['live'])
  })

  it('shows what changes', async () => {
    const { api, clock, state } = await openConsole()
    api.put(aWorker({ id: 'w-2', version: 6, status: 'RUNNING' }))
    api.put(aWorker({ id: 'w-4', version: 1 }))
    api.remove('w-3', 6)
    await clock.advance(0)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 6, 'w-4': 1 })
    expect(state.live.worker.get('w-2')?.status).toBe('RUNNING')
  })

  it('never lets older data overwrite newer', async () => {
    const { api, clock, state } = await openConsole()
    const late = aWorker({ id: 'w-1', version: 4, status: 'FAILED' })
    api.say({ type: 'worker.updated', id: 'w-1', version: 4, data: late }, '101')
    api.say({ type: 'worker.deleted', id: 'w-2', version: 4, data: null }, '102')
    api.remove('w-3', 5)
    api.say({ type: 'worker.updated', id: 'w-3', version: 5, data: aWorker({ id: 'w-3', version: 5 }) }, '104')
    await clock.advance(0)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5 })
    expect(state.live.worker.get('w-1')?.status).toBe('PENDING')
  })

  it('passes over kinds of events that it does not know', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.say({ type: 'session.created', id: 'ls-1', version: 1, data: {} }, '101')
    api.put(aWorker({ id: 'w-1', version: 6 }))
    await clock.advance(0)
    expect(state.live.worker.get('w-1')?.version).toBe(6)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('reloads everything on a reset and drops deleted resources', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.workers.delete('w-2')
    api.workers.set('w-1', aWorker({ id: 'w-1', version: 9 }))
    api.say({ type: 'reset' })
    await clock.advance(0)
    expect(connection()).toMatchObject({ state: 'reconnecting' })
    await clock.advance(1_000)
    expect(versions(state)).toEqual({ 'w-1': 9, 'w-3': 5 })
    expect(connection()).toEqual({ state: 'live' })
  })

  it('accepts lower versions after a reset, as from a restored backup', async () => {
    const { api, clock, state } = await openConsole()
    api.workers.set('w-1', aWorker({ id: 'w-1', version: 2 }))
    api.say({ type: 'reset' })
    await clock.advance(1_000)
    expect(versions(state)).toMatchObject({ 'w-1': 2 })
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
    api.put(aWorker({ id: 'w-1', version: 6 }))
    await clock.advance(0)
    const requests = api.requests.length
    api.breakStream()
    await clock.advance(0)
    expect(connection()).toEqual({
      state: 'reconnecting',
      because: 'the event stream ended',
      retryAtMs: serverNow() + 1_000,
    })
    await clock.advance(1_000)
    expect(api.openedAfter).toEqual(['100', '101'])
    expect(api.requests).toHaveLength(requests)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('is one that is silent for 40 s; heartbeats keep it', async () => {
    const { api, clock, connection } = await openConsole()
    await clock.advance(39_000)
    api.heartbeat()
    await clock.advance(39_000)
    expect(connection()).toEqual({ state: 'live' })
    await clock.advance(1_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: 'the event stream fell silent' })
  })

  it('is retried after 1, 2, 4, 8, 10 and 10 s', async () => {
    const { api, clock, connection, serverNow } = await openConsole()
    const waits: number[] = []
    api.mode = 'down'
    api.breakStream()
    for (let attempt = 0; attempt < 6; attempt++) {
      await clock.advance(0)
      const now = connection()
      const waitMs = 'retryAtMs' in now ? now.retryAtMs - serverNow() : 0
      waits.push(waitMs / 1000)
      await clock.advance(waitMs)
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10])
  })

  it('is retried at once when a person requests', async () => {
    const { api, clock, stream, connection } = await openConsole()
    api.breakStream()
    await clock.advance(0)
    stream.retryNow()
    await clock.advance(0)
    expect(connection()).toEqual({ state: 'live' })
  })
})

describe('without a stream', () => {
  it('polls the lists after four failures, and follows again when it can', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.mode = 'no-stream'
    api.breakStream()
    await clock.advance(1_000 + 2_000 + 4_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: 'too many event streams are open' })
    api.workers.set('w-1', aWorker({ id: 'w-1', version: 8 }))
    await clock.advance(8_000)
    expect(state.live.worker.get('w-1')?.version).toBe(8)
    expect(connection()).toMatchObject({ state: 'polling', because: 'too many event streams are open' })
    api.mode = 'up'
    await clock.advance(10_000)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('accepts lower versions while polling, as from a restored backup', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.mode = 'no-stream'
    api.breakStream()
    api.workers.set('w-1', aWorker({ id: 'w-1', version: 2 }))
    await clock.advance(1_000 + 2_000 + 4_000 + 8_000)
    expect(connection()).toMatchObject({ state: 'polling' })
    expect(versions(state)).toEqual({ 'w-1': 2, 'w-2': 5, 'w-3': 5 })
  })

  it('is offline when lists fail too, and shows since when', async () => {
    const { api, clock, state, connection } = await openConsole()
    const heardAtMs = state.lastMessageAtMs.value
    const shown = new Set<string>()
    effect(() => void shown.add(state.connection.value.state))
    api.mode = 'down'
    api.breakStream()
    await clock.advance(60_000)
    expect(connection()).toMatchObject({ state: 'offline', because: 'nobody answers' })
    expect([...shown]).toEqual(['live', 'reconnecting', 'offline'])
    expect(state.lastMessageAtMs.value).toBe(heardAtMs)
    expect(versions(state)).toEqual({ 'w-1': 5, 'w-2': 5, 'w-3': 5 })
  })

  it('does not call a stream live that opens but brings nothing', async () => {
    const { api, clock, connection } = await openConsole(each => {
      each.mode = 'mute'
    })
    expect(connection()).toEqual({ state: 'connecting' })
    await clock.advance(20_000)
    expect(connection()).toMatchObject({ state: 'reconnecting', because: 'the event stream fell silent' })
    await clock.advance(120_000)
    expect(connection()).toMatchObject({ state: 'polling' })
    api.mode = 'up'
    await clock.advance(30_000)
    expect(connection()).toEqual({ state: 'live' })
  })

  it('keeps trying when the API is not there from the start', async () => {
    const { api, clock, state, connection } = await openConsole(each => {
      each.mode = 'down'
    })
    expect(connection()).toMatchObject({ state: 'reconnecting' })
    expect(state.info.value).toBeNull()
    api.mode = 'up'
    await clock.advance(1_000)
    expect(connection()).toEqual({ state: 'live' })
    expect(state.live.worker.all().size).toBe(3)
  })
})

describe('signed out', () => {
  it('waits for a login and then reloads everything', async () => {
    const { api, clock, state, connection } = await openConsole()
    api.mode = 'signed-out'
    api.breakStream()
    await clock.advance(1_000)
    expect(connection()).toEqual({ state: 'signed-out', signIn: null })
    api.signIn = '/login'
    await clock.advance(60_000)
    expect(connection()).toEqual({ state: 'signed-out', signIn: '/login' })
    api.mode = 'up'
    api.role = 'user'
    await clock.advance(5_000)
    expect(connection()).toEqual({ state: 'live' })
    expect(state.info.value?.actor.role).toBe('user')
  })
})
