import { getEventListeners } from 'node:events'
import { runningLoop } from '@lcm/testkit/reconciliation-fixture'
import { type ScriptedWatchSource, scriptedWatchSource } from '@lcm/testkit/scripted-watch-source'
import { describe, expect, it } from 'vitest'
import { retry, success } from '../reconciliation/resource-state.ts'
import { WatchCompacted } from './watch-source.ts'
import { leadingEdge, type WatchOptions, watch } from './watch-trigger.ts'

interface Hint {
  readonly status: string
  readonly desired: string
}
const atRest: Hint = { status: 'RUNNING', desired: 'RUNNING' }
const differing: Hint = { status: 'STOPPED', desired: 'RUNNING' }

const PREFIX = '/lcm/workers/'
const parseKey = (changeKey: string) => (changeKey.startsWith(PREFIX) ? changeKey.slice(PREFIX.length) : null)
const isUrgent = (hint: Hint) => hint.status !== hint.desired

interface Script {
  readonly prepare?: (source: ScriptedWatchSource<Hint>) => void
  readonly options?: Partial<WatchOptions<Hint>>
}

/** A loop that watches a scripted source; `prepare` runs before the watch opens. */
async function watching({ prepare, options }: Script = {}) {
  const source = scriptedWatchSource<Hint>()
  prepare?.(source)
  const world = runningLoop({ triggers: [watch({ source, parseKey, isUrgent, ...options })] })
  await world.clock.advance(0)
  const health = () => {
    const [first] = world.loop.health().watches
    if (first === undefined) throw new Error('no watch reports')
    return first
  }
  return { ...world, source, health }
}

/** Heartbeats each second, for tests that advance time. */
async function live({ clock, source }: Awaited<ReturnType<typeof watching>>, ms: number) {
  for (let left = ms; left > 0; left -= 1_000) {
    source.progress()
    await clock.advance(Math.min(left, 1_000))
  }
}

describe('opening', () => {
  it('lists first and adds at once what its hint calls urgent, and nothing else', async () => {
    const { starts, source } = await watching({
      prepare: scripted => {
        scripted.put('/lcm/workers/w-1', atRest)
        scripted.put('/lcm/workers/w-2', differing)
        scripted.put('/lcm/sessions/s-1', differing)
      },
    })
    expect(source.calls).toEqual(['list', 'watch after 3'])
    expect(starts).toMatchObject([{ key: 'w-2', at: 0, cause: 'watch list' }])
  })

  it('adds nothing when no hint is urgent', async () => {
    const source = scriptedWatchSource<Hint>()
    source.put('/lcm/workers/w-1', differing)
    const { clock, starts } = runningLoop({ triggers: [watch({ source, parseKey })] })
    await clock.advance(0)
    expect(starts).toEqual([])
  })

  it('skips an entry that cannot be read', async () => {
    const { starts, logger } = await watching({
      prepare: scripted => {
        scripted.put('/lcm/workers/w-1', differing)
        scripted.put('/lcm/workers/w-2', differing)
      },
      options: {
        parseKey: changeKey => {
          if (changeKey.endsWith('w-1')) throw new Error('unreadable')
          return parseKey(changeKey)
        },
      },
    })
    expect(starts.map(start => start.key)).toEqual(['w-2'])
    expect(logger.messages('error')).toEqual(['change could not be read'])
  })
})

describe('changes', () => {
  it('of an idle key are handled at once', async () => {
    const { source, clock, starts, logger } = await watching()
    await clock.advance(700)
    source.put('/lcm/workers/w-1', atRest)
    await clock.advance(0)
    expect(starts).toMatchObject([{ key: 'w-1', at: 700, cause: 'watch' }])
    expect(logger.messages('info')).toEqual([])
  })

  it('in a burst are merged into one more reconcile half a second after the first', async () => {
    const { source, clock, startsOf } = await watching()
    for (let count = 0; count < 5; count += 1) {
      source.put('/lcm/workers/w-1', atRest)
      await clock.advance(50)
    }
    await clock.advance(5_000)
    expect(startsOf('w-1')).toEqual([0, 500])
  })

  it('that go first skip the debounce and pass every other due key', async () => {
    const source = scriptedWatchSource<Hint>()
    const { clock, starts } = runningLoop({
      triggers: [watch({ source, parseKey, goesFirst: isUrgent })],
      concurrency: 1,
      reconcile: async () => {
        await clock.sleep(10)
        return success()
      },
    })
    for (const key of ['w-1', 'w-2', 'w-3']) source.put(`/lcm/workers/${key}`, atRest)
    await clock.advance(5)
    source.put('/lcm/workers/w-3', differing)
    await clock.advance(100)
    expect(starts.map(({ key }) => key)).toEqual(['w-1', 'w-3', 'w-2'])
  })

  it('end a backoff early', async () => {
    const source = scriptedWatchSource<Hint>()
    const { clock, startsOf, trigger } = runningLoop({
      triggers: [watch({ source, parseKey })],
      reconcile: async () => retry('no'),
    })
    trigger.add('w-1', 'test')
    await clock.advance(3_100)
    source.put('/lcm/workers/w-1', atRest)
    await clock.advance(0)
    expect(startsOf('w-1')).toEqual([0, 1_000, 3_000, 3_100])
  })

  it('of other kinds of keys are ignored', async () => {
    const { source, clock, starts, meter } = await watching()
    source.put('/lcm/capacity/w-1', atRest)
    await clock.advance(1_000)
    expect(starts).toEqual([])
    expect(meter.value('reconciliation_watch_events_total', { type: 'put' })).toBe(0)
  })

  it('wake only for hints that the trigger accepts', async () => {
    const { source, clock, starts } = await watching({ options: { wakes: hint => hint.status === 'PENDING' } })
    source.put('/lcm/workers/w-1', atRest)
    source.put('/lcm/workers/w-2', { status: 'PENDING', desired: 'RUNNING' })
    await clock.advance(1_000)
    expect(starts.map(start => start.key)).toEqual(['w-2'])
  })

  it('that delete a key drop its state', async () => {
    const { source, clock, trigger, loop } = await watching()
    trigger.add('w-1', 'test')
    await clock.advance(0)
    trigger.add('w-1', 'later', { afterMs: 60_000 })
    source.delete('/lcm/workers/w-1')
    await clock.advance(0)
    expect(loop.health()).toMatchObject({ resources_managed: 0, resources_pending: 0 })
  })

  it('are counted by type', async () => {
    const { source, clock, meter } = await watching()
    source.put('/lcm/workers/w-1', atRest)
    source.delete('/lcm/workers/w-1')
    source.delete('/lcm/workers/w-2')
    await clock.advance(0)
    const counted = (type: string) => meter.value('reconciliation_watch_events_total', { type })
    expect([counted('put'), counted('delete')]).toEqual([1, 2])
  })

  it('that cannot be read do not stop later ones', async () => {
    const { source, clock, starts } = await watching({
      options: {
        wakes: hint => {
          if (hint.status === 'BROKEN') throw new Error('unreadable')
          return true
        },
      },
    })
    source.put('/lcm/workers/w-1', { status: 'BROKEN', desired: 'BROKEN' })
    source.put('/lcm/workers/w-2', atRest)
    await clock.advance(0)
    expect(starts.map(start => start.key)).toEqual(['w-2'])
    expect(source.calls).toEqual(['list', 'watch after 0'])
  })

  it('never show up in the log with their values', async () => {
    const secret = { status: 'planted-token', desired: 'planted-token' }
    const { source, clock, logger } = await watching()
    source.put('/lcm/workers/w-1', secret)
    source.breakStreams()
    await clock.advance(10_000)
    expect(JSON.stringify(logger.lines)).not.toContain('planted-token')
  })
})

describe('a broken stream', () => {
  it('resumes where it was, so that no change is missed', async () => {
    const { source, clock, starts } = await watching()
    source.put('/lcm/workers/w-1', atRest)
    await clock.advance(0)
    source.breakStreams()
    source.put('/lcm/workers/w-2', atRest)
    await clock.advance(1_000)
    expect(source.calls).toEqual(['list', 'watch after 0', 'watch after 1'])
    expect(starts.map(({ key, at }) => [key, at])).toEqual([
      ['w-1', 0],
      ['w-2', 1_000],
    ])
  })

  it('resumes where the list was when it breaks before its first message', async () => {
    const source = scriptedWatchSource<Hint>()
    source.put('/lcm/workers/w-1', atRest)
    let isBroken = true
    const { clock } = await watching({
      options: {
        source: {
          ...source,
          watch(after, signal) {
            if (isBroken) source.refuse(true)
            isBroken = false
            const stream = source.watch(after, signal)
            source.refuse(false)
            return stream
          },
        },
      },
    })
    await clock.advance(1_000)
    expect(source.calls).toEqual(['list', 'watch after 1', 'watch after 1'])
  })

  it('leaves no listener and no timer behind, however often it breaks', async () => {
    const { source, clock, trigger, stop } = await watching()
    const listeners = () => getEventListeners(trigger.signal, 'abort').length
    const before = listeners()
    for (let count = 0; count < 5; count += 1) {
      source.breakStreams()
      await clock.advance(1_000)
    }
    expect(listeners()).toBe(before)
    await stop()
    expect(clock.timersLeft()).toBe(0)
  })

  it('is opened again after 1, 2, 3 seconds and so on, at most 10, forever', async () => {
    const { source, clock } = await watching({ prepare: scripted => scripted.refuse(true) })
    const triedAt: number[] = []
    for (let second = 0; second < 100; second += 1) {
      if (source.calls.length > triedAt.length) triedAt.push(second)
      await clock.advance(1_000)
    }
    expect(triedAt).toEqual([0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 65, 75, 85, 95])
  })

  it('counts its attempts from the start again once it has worked', async () => {
    const { source, clock, health } = await watching()
    source.refuse(true)
    source.breakStreams()
    await clock.advance(5_000)
    expect(health().attempts).toBe(3)
    source.refuse(false)
    await clock.advance(1_000)
    expect(health()).toMatchObject({ attempts: 0, connected: true })
    source.breakStreams()
    await clock.advance(999)
    expect(health()).toMatchObject({ attempts: 1, connected: false })
    await clock.advance(1)
    expect(health().connected).toBe(true)
  })

  it('that ends without an error counts as broken too, and does not spin', async () => {
    let opened = 0
    async function* ending() {
      opened += 1
      yield* []
    }
    const source = { list: async () => ({ entries: [], revision: 0 }), watch: ending }
    const { clock } = await watching({ options: { source } })
    await clock.advance(60_000)
    expect(opened).toBe(11)
  })

  it('is degraded after ten attempts in a row, and recovers', async () => {
    const world = await watching({ prepare: scripted => scripted.refuse(true) })
    const { source, clock, health, loop, logger, meter } = world
    await clock.advance(44_999)
    expect(health()).toMatchObject({ attempts: 9, degraded: false })
    await clock.advance(1)
    expect(health()).toMatchObject({ attempts: 10, degraded: true })
    expect(loop.health().status).toBe('degraded')
    expect(meter.value('reconciliation_watch_degraded')).toBe(1)
    expect(logger.messages('error')).toEqual(['watch is degraded; it goes on trying'])
    source.refuse(false)
    await clock.advance(10_000)
    expect(health()).toMatchObject({ attempts: 0, degraded: false, connected: true })
    expect(loop.health().status).toBe('healthy')
    expect(logger.messages('info')).toEqual(['watch is back'])
  })
})

describe('the age of a watch', () => {
  it('counts from the last message, however often it tries to connect', async () => {
    const { source, clock, health, meter, loop } = await watching()
    source.refuse(true)
    source.breakStreams()
    await clock.advance(60_000)
    expect(health().age_ms).toBe(60_000)
    loop.health()
    expect(meter.value('reconciliation_watch_age_seconds')).toBe(60)
  })

  it('starts with the response to the list', async () => {
    const { list } = scriptedWatchSource<Hint>()
    const silent = scriptedWatchSource<Hint>()
    silent.silence(true)
    const { clock, health } = await watching({ options: { source: { ...silent, list } } })
    await clock.advance(3_000)
    expect(health()).toMatchObject({ age_ms: 3_000, connected: false, revision: 0 })
  })

  it('is unknown before the first', async () => {
    const { health } = await watching({ prepare: scripted => scripted.refuse(true) })
    expect(health()).toMatchObject({ age_ms: null, revision: null, connected: false })
  })
})

describe('compaction', () => {
  it('is followed by a new list at once, which adds all that changed since and nothing else', async () => {
    const { source, clock, starts } = await watching({
      prepare: scripted => {
        scripted.put('/lcm/workers/w-missed', atRest)
        scripted.put('/lcm/workers/w-listed', atRest)
      },
    })
    source.put('/lcm/workers/w-seen', atRest)
    await clock.advance(0)
    source.breakStreams()
    source.put('/lcm/workers/w-missed', atRest)
    source.put('/lcm/workers/w-new', atRest)
    source.compact()
    await clock.advance(1_000)
    expect(source.calls).toEqual(['list', 'watch after 2', 'watch after 3', 'list', 'watch after 5'])
    expect(starts.map(start => start.key)).toEqual(['w-seen', 'w-missed', 'w-new'])
  })

  it('right after the first list loses nothing either', async () => {
    const source = scriptedWatchSource<Hint>()
    source.put('/lcm/workers/w-1', atRest)
    let lists = 0
    const list = async (signal: AbortSignal) => {
      const listing = await source.list(signal)
      lists += 1
      if (lists === 1) {
        source.put('/lcm/workers/w-1', atRest)
        source.compact()
      }
      return listing
    }
    const { starts } = await watching({ options: { source: { ...source, list } } })
    expect(starts.map(start => start.key)).toEqual(['w-1'])
  })

  it('is followed by a list at once each time that the stream has worked in between', async () => {
    const { source, clock, startsOf } = await watching()
    for (let count = 0; count < 2; count += 1) {
      source.breakStreams(new WatchCompacted(0))
      source.put('/lcm/workers/w-1', atRest)
      await clock.advance(5_000)
      source.progress()
    }
    expect(startsOf('w-1')).toEqual([0, 5_000])
  })

  it('wakes for no hint that a put would not wake for', async () => {
    const { source, clock, starts } = await watching({ options: { wakes: hint => hint.status === 'PENDING' } })
    source.breakStreams()
    source.put('/lcm/workers/w-1', atRest)
    source.compact()
    await clock.advance(1_000)
    expect(source.calls.at(-1)).toBe('watch after 1')
    expect(starts).toEqual([])
  })

  it('that repeats does not spin', async () => {
    const source = scriptedWatchSource<Hint>()
    source.put('/lcm/workers/w-1', atRest)
    source.compact()
    const outdated = async () => ({ entries: [], revision: 0 })
    const { clock } = await watching({ options: { source: { ...source, list: outdated } } })
    await clock.advance(5_999)
    expect(source.calls).toHaveLength(4)
  })

  it('is assumed when revisions go back, as after a rebuilt etcd, and every key is reconciled', async () => {
    const { source, clock, starts } = await watching({
      prepare: scripted => {
        for (let count = 0; count < 9; count += 1) scripted.put('/lcm/workers/w-1', atRest)
      },
    })
    source.breakStreams()
    source.restartHistory()
    await clock.advance(1_000)
    expect(source.calls.slice(2)).toEqual(['watch after 9', 'list', 'watch after 1'])
    expect(starts.map(start => start.key)).toEqual(['w-1'])
  })
})

describe('a silent stream', () => {
  it('is closed and opened again after 10 seconds without a message', async () => {
    const { source, clock, health, logger } = await watching()
    await clock.advance(9_999)
    expect([source.openStreams, health().age_ms]).toEqual([1, 9_999])
    await clock.advance(1)
    expect(source.openStreams).toBe(0)
    await clock.advance(1_000)
    expect(source.openStreams).toBe(1)
    expect(source.calls).toEqual(['list', 'watch after 0', 'watch after 0'])
    expect(String(logger.lines.find(line => line.message === 'watch is broken')?.fields.err)).toContain('10000 ms')
  })

  it('is kept open while it sends heartbeats', async () => {
    const world = await watching()
    await live(world, 60_000)
    expect(world.source.calls).toEqual(['list', 'watch after 0'])
    expect(world.health().age_ms).toBe(1_000)
  })

  it('is noticed ten seconds after its last message, not after its first', async () => {
    const world = await watching()
    await live(world, 15_000)
    await world.clock.advance(8_999)
    expect(world.source.openStreams).toBe(1)
    await world.clock.advance(1)
    expect(world.source.openStreams).toBe(0)
  })

  it('includes a list that never responds', async () => {
    const { source, clock, starts, health } = await watching({ prepare: scripted => scripted.silence(true) })
    expect(health().connected).toBe(false)
    await clock.advance(10_000)
    source.silence(false)
    source.put('/lcm/workers/w-1', differing)
    await clock.advance(1_000)
    expect(source.calls).toEqual(['list', 'list', 'watch after 1'])
    expect(starts.map(start => start.key)).toEqual(['w-1'])
  })

  it('is closed at the end of the term, and the next term opens with a list of its own', async () => {
    const { source, clock, stop, begin, loop, logger } = await watching()
    await stop()
    expect([source.openStreams, loop.health().watches, logger.lines]).toEqual([0, [], []])
    begin()
    await clock.advance(0)
    expect(source.calls).toEqual(['list', 'watch after 0', 'list', 'watch after 0'])
  })
})

/** When each event of one key is handled. */
function handledAt(times: readonly number[], windowMs = 500) {
  const debounce = leadingEdge(windowMs)
  return times.map(now => now + debounce.delayMs('w-1', now))
}

it('passes an idle key at once', () => {
  expect(handledAt([0, 500, 1_200])).toEqual([0, 500, 1_200])
})

it('merges a burst into the end of the window that its first event opened', () => {
  expect(handledAt([0, 0, 100, 200, 499])).toEqual([0, 500, 500, 500, 500])
})

it('handles a key that is never idle once per window', () => {
  const times = Array.from({ length: 100 }, (_, index) => index * 50)
  expect([...new Set(handledAt(times))]).toEqual([
    0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000,
  ])
})

it('separates keys', () => {
  const debounce = leadingEdge(500)
  debounce.delayMs('w-1', 0)
  expect(debounce.delayMs('w-2', 100)).toBe(0)
})

it('passes everything when the window is zero', () => {
  expect(handledAt([0, 0, 1], 0)).toEqual([0, 0, 1])
})

it('remembers no key for longer than necessary', () => {
  const debounce = leadingEdge(500)
  for (let now = 0; now < 100_000; now += 10) {
    debounce.delayMs('busy', now)
    debounce.delayMs(`once-${now}`, now)
  }
  expect(debounce.size).toBeLessThan(110)
})
