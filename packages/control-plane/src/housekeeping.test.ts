import { toInstant } from '@lcm/domain/instant'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { StoreError } from '@lcm/store/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { beforeEach, describe, expect, it } from 'vitest'
import { RESOURCES } from './resources.ts'
import { aFleet, type Fleet } from './testing/a-fleet.ts'

const DAY_MS = 86_400_000
const TEN_MINUTES_MS = 600_000
let fleet: Fleet
beforeEach(() => {
  fleet = aFleet()
})

const STREAMS = ['decision', 'audit', 'transition', 'scaling', 'cost']

async function enter(days: readonly number[]): Promise<void> {
  const now = fleet.clock.now()
  const entries = STREAMS.flatMap(stream =>
    days.map(day => ({
      id: `${stream}-${day}`,
      stream,
      subject: 'worker:w-1',
      at: toInstant(now - day * DAY_MS),
      body: { day },
    })),
  )
  await fleet.store.journal.append(entries)
}
const left = async (stream: string) =>
  (await fleet.journal(stream, 'worker:w-1')).map(({ body }) => ('day' in body ? body.day : ''))

/** Runs housekeeping once. */
async function tidyUp(): Promise<void> {
  const stop = fleet.run()
  await fleet.clock.advance(0)
  await stop()
}

describe('old journal entries are deleted', () => {
  it('after 30 days for decisions, and after 400 for audit and cost', async () => {
    await enter([1, 29, 31, 399, 401])
    await tidyUp()
    expect(await left('decision')).toEqual([1, 29])
    for (const stream of STREAMS.slice(1)) expect(await left(stream), stream).toEqual([1, 29, 31, 399])
  })

  it('as the settings say', async () => {
    await fleet.send('PATCH', 'settings', { json: { journal_retention_days: 2 } })
    await enter([1, 3])
    await tidyUp()
    expect(await left('decision')).toEqual([1])
    expect(await left('audit')).toEqual([1, 3])
  })

  it('in any number', async () => {
    const old = Array.from({ length: 2_500 }, (_, n) => 31 + n / 10_000)
    await enter(old)
    await tidyUp()
    expect(await left('decision')).toEqual([])
  })

  it('when they expire while the process runs', async () => {
    const stop = fleet.run()
    await enter([29.999])
    await fleet.clock.advance(TEN_MINUTES_MS / 2)
    expect(await left('decision')).toHaveLength(1)
    await fleet.clock.advance(TEN_MINUTES_MS)
    expect(await left('decision')).toEqual([])
    await stop()
  })
})

it('continues when the wall clock is set back', async () => {
  const time = manualClock()
  let setBackMs = 0
  fleet = aFleet({ clock: { ...time, now: () => time.now() - setBackMs } })
  const stop = new AbortController()
  const running = Promise.all(fleet.services.map(service => service.run(stop.signal)))
  await time.advance(0)
  setBackMs = DAY_MS
  await enter([32])
  await time.advance(TEN_MINUTES_MS)
  expect(await left('decision')).toEqual([])
  stop.abort()
  await time.advance(0)
  await running
})

it('deletes samples after a week', async () => {
  const now = fleet.clock.now()
  const samples = [0, 6.9, 7.1, 30].map(day => ({
    series: 'worker:w-1',
    at: toInstant(now - day * DAY_MS),
    body: { day },
  }))
  await fleet.store.series.append(samples)
  await tidyUp()
  const found = await fleet.store.series.range({ series: 'worker:w-1', limit: 10 })
  expect(found.map(({ body }) => body)).toEqual([{ day: 0 }, { day: 6.9 }])
})

it('deletes idempotent responses after a day, among thousands of younger ones', async () => {
  const requests = fleet.store.collection(RESOURCES.idempotentRequests)
  const request = (id: string, ageMs: number) => {
    const started_at = toInstant(fleet.clock.now() - ageMs)
    return { id, version: 1, body_sha256: '', resource_id: 'w-1', started_at, answer: null }
  }
  const young = Array.from({ length: 1_200 }, (_, n) => request(`a${String(n).padStart(4, '0')}`, DAY_MS - 1_000))
  await Promise.all([...young, request('z-old', DAY_MS + 1)].map(each => requests.insert(each)))
  await tidyUp()
  expect(await requests.get('z-old')).toBeNull()
  expect(await requests.list({ limit: 2_000 })).toHaveLength(1_200)
})

it('drops instances that have been silent', async () => {
  const report = {
    is_leader: false,
    epoch: 0,
    since: null,
    software: '1',
    queue: { due: 0, active: 0 },
    retries: 0,
    watch: { healthy: true, age_seconds: null },
    last_sweep: null,
    plan: [],
  }
  const beat = (name: string) =>
    fleet.send('PUT', `services/worker-controller/instances/${name}`, { as: 'controller', json: report })
  await beat('silent')
  await fleet.clock.advance(30_000)
  await beat('alive')
  await fleet.clock.advance(1)
  await tidyUp()
  const found = await fleet.store.collection(RESOURCES.instances).list({ limit: 10 })
  expect(found.map(instance => instance.instance_id)).toEqual(['alive'])
  await fleet.clock.advance(3_600_000)
  await tidyUp()
  const { items } = (await fleet.send('GET', 'services')).json
  const controller = items.find(({ service }: { service: string }) => service === 'worker-controller')
  expect(controller, 'says since when none runs').toMatchObject({ instances: [], last_seen_at: found[0]?.seen_at })
})

it('finishes everything that commits left pending', async () => {
  let left = 2_500
  const inner = openSqliteStore(':memory:')
  const settle = async (limit: number) => {
    const done = Math.min(limit, left)
    left -= done
    return done
  }
  fleet = aFleet({ store: { ...inner, flushOutbox: settle } })
  const stop = fleet.run()
  await fleet.clock.advance(0)
  expect(left).toBe(0)
  left = 1
  await fleet.clock.advance(10_000)
  expect(left).toBe(0)
  await stop()
})

it('continues after a failure, and logs it', async () => {
  const log = recordingLogger()
  const inner = openSqliteStore(':memory:')
  let failures = 1
  const settle = async () => {
    failures -= 1
    if (failures >= 0) throw new StoreError('no answer')
    return 0
  }
  fleet = aFleet({ store: { ...inner, flushOutbox: settle }, log })
  await enter([31])
  const stop = fleet.run()
  await fleet.clock.advance(0)
  expect(log.messages('error')).toEqual(['housekeeping failed; retrying'])
  expect(await left('decision')).toHaveLength(1)
  await fleet.clock.advance(10_000)
  expect(await left('decision')).toEqual([])
  await stop()
})
