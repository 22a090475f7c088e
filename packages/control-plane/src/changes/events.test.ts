import { toInstant } from '@lcm/domain/instant'
import { textReason } from '@lcm/domain/reason'
import { openSqliteStore } from '@lcm/store/sqlite/store'
import { StoreError } from '@lcm/store/store'
import { manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aFleet, type Fleet } from '../testing/a-fleet.ts'

let fleet: Fleet
let stop: () => Promise<void>
beforeEach(() => {
  fleet = aFleet()
  stop = fleet.run()
})
afterEach(() => stop())

type Stream = Awaited<ReturnType<Fleet['follow']>>
const measure = (id: string, sample: object = {}) =>
  fleet.send('POST', `workers/${id}/metrics`, {
    as: 'controller',
    json: { collected_at: toInstant(fleet.clock.now()), ...sample },
  })
const decide = (id: string, resource: string, more: object = {}) => {
  const decision = {
    id,
    at: toInstant(fleet.clock.now()),
    resource,
    action: 'wait',
    because: textReason('not yet'),
    ...more,
  }
  return fleet.send('POST', 'decisions', { as: 'controller', json: { epoch: 1, decisions: [decision] } })
}
const typesOf = async (stream: Stream) => (await stream.seen()).map(event => event.type)
const ofType = async (stream: Stream, type: string) => (await stream.seen()).filter(event => event.type === type)

describe('samples', () => {
  it('come as one batch a second, with the newest of each worker', async () => {
    const [a, b] = [await fleet.running({ name: 'a' }), await fleet.running({ name: 'b' })]
    const stream = await fleet.follow('types=metrics')
    await fleet.clock.advance(1_500)
    await measure(a.id, { nodes_count: 1 })
    await fleet.clock.advance(10)
    await measure(a.id, { nodes_count: 2 })
    await measure(b.id, { nodes_count: 3 })
    expect(await ofType(stream, 'metrics.batch')).toEqual([])
    await fleet.clock.advance(1_000)
    const batches = await ofType(stream, 'metrics.batch')
    expect(batches).toMatchObject([
      {
        data: [
          { worker_id: a.id, sample: { nodes_count: 2 } },
          { worker_id: b.id, sample: { nodes_count: 3 } },
        ],
      },
    ])
    await fleet.clock.advance(5_000)
    expect(await ofType(stream, 'metrics.batch')).toEqual(batches)
    await stream.stop()
  })

  it('come at most once a second, and each once', async () => {
    const { id } = await fleet.running()
    const stream = await fleet.follow('types=metrics')
    for (let n = 0; n < 100; n += 1) {
      await measure(id, { nodes_count: n })
      await fleet.clock.advance(100)
    }
    await fleet.clock.advance(1_000)
    const batches = await ofType(stream, 'metrics.batch')
    expect(batches.length).toBeGreaterThanOrEqual(10)
    expect(batches.length).toBeLessThanOrEqual(11)
    const newest = batches.flatMap(event => (event.type === 'metrics.batch' ? event.data : []))
    const counts = newest.map(({ sample }) => sample.nodes_count ?? -1)
    expect(counts.at(-1)).toBe(99)
    expect(counts).toEqual([...new Set(counts)].sort((x, y) => x - y))
    await stream.stop()
  })

  it('are all sent when they fill more than one page', async () => {
    const { id } = await fleet.running()
    const stream = await fleet.follow('types=metrics')
    const at = toInstant(fleet.clock.now())
    const body = { collected_at: at, nodes_count: 1 }
    const series = Array.from({ length: 1_500 }, (_, n) => ({ series: `worker:${id}-${n}`, at, body }))
    await fleet.store.series.append(series)
    await fleet.clock.advance(1_000)
    const [batch] = await ofType(stream, 'metrics.batch')
    expect(batch?.type === 'metrics.batch' && batch.data.length).toBe(1_500)
    await stream.stop()
  })
})

describe('decisions', () => {
  it('come in order, with and without a write, each once', async () => {
    const { id } = await fleet.create()
    const stream = await fleet.follow('types=decision', 'operator')
    await fleet.clock.advance(1_000)
    await decide('d-1', `worker:${id}`)
    await fleet.clock.advance(100)
    await fleet.report(id, 1, { service_status: 'STARTING' })
    await fleet.clock.advance(10_000)
    const decisions = await ofType(stream, 'decision')
    const record = (await fleet.send('GET', `workers/${id}/decisions`)).json.items.reverse()
    expect(decisions.map(event => 'data' in event && event.data)).toEqual(record)
    await stream.stop()
  })

  it('and samples have no position: they can’t be resumed', async () => {
    const { id } = await fleet.running()
    await fleet.clock.advance(10_000)
    const stream = await fleet.follow()
    await measure(id)
    await decide('d-1', `worker:${id}`)
    await fleet.clock.advance(1_000)
    await fleet.act(id, 'stop')
    expect(await typesOf(stream)).toEqual(['heartbeat', 'decision', 'metrics.batch', 'worker.updated'])
    expect(stream.texts.map(text => /^id: \S/.test(text))).toEqual([false, false, false, true])
    await stream.stop()
  })

  it('are sent when they are written slightly late, but not when they are old', async () => {
    const { id } = await fleet.create()
    const stream = await fleet.follow('types=decision')
    await fleet.clock.advance(10_000)
    await decide('late', `worker:${id}`, { at: toInstant(fleet.clock.now() - 3_000) })
    await decide('old', `worker:${id}`, { at: toInstant(fleet.clock.now() - 60_000) })
    await fleet.clock.advance(2_000)
    expect(await ofType(stream, 'decision')).toMatchObject([{ id: 'worker-controller:late' }])
    await stream.stop()
  })

  it('are not sent when they are older than the subscription', async () => {
    const { id } = await fleet.create()
    await decide('before', `worker:${id}`)
    await fleet.clock.advance(60_000)
    const stream = await fleet.follow('types=decision')
    await fleet.clock.advance(5_000)
    expect(await ofType(stream, 'decision')).toEqual([])
    await stream.stop()
  })
})

describe('a filter', () => {
  async function everything(query: string): Promise<string[]> {
    const [a, b] = [await fleet.running({ name: 'a' }), await fleet.running({ name: 'b' })]
    await fleet.clock.advance(10_000)
    const stream = await fleet.follow(query.replace('$a', a.id))
    await fleet.clock.advance(0)
    for (const { id } of [a, b]) {
      await measure(id)
      await decide(`d-${id}`, `worker:${id}`, { because: textReason(`like worker:${a.id}`) })
      await fleet.act(id, 'stop')
      await fleet.clock.advance(0)
    }
    await fleet.send('POST', 'worker-templates/metal/disable')
    await fleet.send('PATCH', 'settings', { json: { min_workers: 1 } })
    await fleet.clock.advance(1_000)
    const types = (await typesOf(stream)).slice(1)
    await stream.stop()
    return types
  }

  it.each<[string, string[]]>([
    ['types=worker', ['worker.updated', 'worker.updated']],
    ['types=worker.updated', ['worker.updated', 'worker.updated']],
    ['types=worker.created', []],
    ['types=template,settings', ['template.updated', 'settings.created']],
    ['types=decision', ['decision', 'decision']],
    ['types=metrics.batch', ['metrics.batch']],
    ['id=$a', ['worker.updated', 'decision']],
    ['types=worker&id=$a', ['worker.updated']],
    ['id=fleet', ['settings.created']],
  ])('%s lets through what it names', async (query, types) => {
    expect(await everything(query)).toEqual(types)
  })

  it.each(['work', 'worker.', 'worker,', 'nonsense'])(
    'with types=%s is refused, since it matches no event',
    async types => {
      expect((await fleet.send('GET', `events?types=${types}`)).json).toMatchObject({ code: 'validation_failed' })
    },
  )

  it.each(['types=', 'types=a,', 'types=A', 'id=', `id=${'x'.repeat(65)}`])('of ?%s is refused', async query => {
    expect(await fleet.send('GET', `events?${query}`)).toMatchObject({ status: 400 })
  })

  it('does not delay the heartbeat', async () => {
    const { id } = await fleet.running()
    const stream = await fleet.follow('types=template')
    await fleet.clock.advance(14_000)
    const start = fleet.clock.now() - 14_000
    await fleet.act(id, 'stop')
    await fleet.clock.advance(31_000)
    const events = await stream.seen()
    expect(events.map(event => [event.type, (Date.parse(event.at) - start) / 1000])).toEqual(
      [0, 15, 30, 45].map(second => ['heartbeat', second]),
    )
    await stream.stop()
  })

  it('never drops heartbeats', async () => {
    const { id } = await fleet.running()
    const stream = await fleet.follow('types=template')
    await fleet.clock.advance(0)
    const start = fleet.clock.now()
    for (let second = 0; second < 60; second += 1) {
      await measure(id)
      if (second % 7 === 0) await fleet.act(id, second % 2 === 0 ? 'stop' : 'start')
      await fleet.clock.advance(1_000)
    }
    const events = await stream.seen()
    expect(events.map(event => [event.type, (Date.parse(event.at) - start) / 1000])).toEqual(
      [0, 15, 30, 45, 60].map(second => ['heartbeat', second]),
    )
    await stream.stop()
  })
})

it('continues when the wall clock is set back', async () => {
  await stop()
  const time = manualClock()
  let setBackMs = 0
  const clock = { ...time, now: () => time.now() - setBackMs }
  fleet = aFleet({ clock })
  const running = fleet.run()
  stop = async () => {
    const stopped = running()
    await time.advance(0)
    await stopped
  }
  const { id } = await fleet.create()
  const stream = await fleet.follow('types=metrics')
  await time.advance(10_000)
  setBackMs = 3_600_000
  await time.advance(1_000)
  await measure(id, { collected_at: toInstant(clock.now()) })
  await time.advance(1_000)
  expect(await typesOf(stream)).toContain('metrics.batch')
  await stream.stop()
})

it('continues after a failed read, and logs it', async () => {
  await stop()
  const inner = openSqliteStore(':memory:')
  let broken = false
  const unlessBroken = <T>(work: () => Promise<T>): Promise<T> =>
    broken ? Promise.reject(new StoreError('no answer')) : work()
  const log = recordingLogger()
  const store = {
    ...inner,
    journal: {
      ...inner.journal,
      query: (q: Parameters<typeof inner.journal.query>[0]) => unlessBroken(() => inner.journal.query(q)),
    },
    series: {
      ...inner.series,
      recent: (from: string, limit: number) => unlessBroken(() => inner.series.recent(from, limit)),
    },
  }
  fleet = aFleet({ store, log })
  stop = fleet.run()
  const { id } = await fleet.create()
  const stream = await fleet.follow('types=decision')
  await fleet.clock.advance(1_000)
  broken = true
  await fleet.clock.advance(2_000)
  broken = false
  await decide('d-1', `worker:${id}`)
  await fleet.clock.advance(1_000)
  expect(await ofType(stream, 'decision')).toHaveLength(1)
  expect(log.messages('warn')).toContain('reading decisions and samples for event streams failed')
  await stream.stop()
})
