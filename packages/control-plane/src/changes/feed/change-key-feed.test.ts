import type { ChangeHint } from '@lcm/coordination/change-keys'
import { WatchCompacted, type WatchMessage } from '@lcm/runtime'
import { StoreError } from '@lcm/store/store'
import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { recordingLogger } from '@lcm/testkit/recording-logger'
import { type ScriptedWatchSource, scriptedWatchSource } from '@lcm/testkit/scripted-watch-source'
import { describe, expect, it } from 'vitest'
import { keyHistory } from '../../testing/fake-change-key-history.ts'
import { type ChangeKeyFeedParts, changeKeyFeed } from './change-key-feed.ts'

const WORKERS = '/lcm/workers/'
const SEAT = '/lcm/worker-controller/leader'
const resourceOfKey = (key: string) =>
  key.startsWith(WORKERS) ? { kind: 'worker', id: key.slice(WORKERS.length) } : null
const hint = (version: number): ChangeHint => ({ id: '', version, updated_at: '' })
const goneHint = (version: number): ChangeHint => ({ ...hint(version), deleted: true })

interface Script {
  readonly parts?: Partial<ChangeKeyFeedParts>
  /** Runs before the feed starts. */
  readonly prepare?: (source: ScriptedWatchSource<ChangeHint>) => void
}

async function following({ parts, prepare }: Script = {}) {
  const source = scriptedWatchSource<ChangeHint>()
  prepare?.(source)
  const stage = { source, clock: manualClock(), log: recordingLogger(), stop: new AbortController() }
  const built = changeKeyFeed({ resourceOfKey, ...stage, ...parts })
  const ended = built.service.run(stage.stop.signal)
  await stage.clock.advance(0)
  const put = (id: string, version: number) => source.put(WORKERS + id, hint(version))
  /** A removal by the port: a put with the deletion, then the delete. */
  const remove = (id: string, version: number) => {
    source.put(WORKERS + id, goneHint(version))
    source.delete(WORKERS + id)
  }
  /** Changes that the feed returns within `ms`, such as `w-1 v2`. */
  const since = (position: string, limit = 100, ms = 0) => changesOf(stage.clock, built.feed.since(position, limit), ms)
  const settle = () => stage.clock.advance(0)
  return { ...stage, ...built, ended, put, remove, since, settle }
}

type Answer = Awaited<ReturnType<ReturnType<typeof changeKeyFeed>['feed']['since']>>

async function changesOf(
  clock: ManualClock,
  answering: Promise<Answer>,
  ms: number,
): Promise<readonly string[] | 'unknown'> {
  const answer = await within(clock, answering, ms)
  if (!answer.known) return 'unknown'
  return answer.changes.map(({ id, version, deleted }) => `${id} v${version}${deleted ? ' gone' : ''}`)
}

/** Fails when it takes longer on the clock. */
async function within<T>(clock: ManualClock, promise: Promise<T>, ms: number): Promise<T> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => undefined)
  await clock.advance(ms)
  if (!isSettled) throw new Error(`no answer within ${ms} ms`)
  return settled
}

describe('position', () => {
  it('waits for the first list', async () => {
    const { source, feed, clock } = await following({
      prepare: scripted => {
        scripted.put(`${WORKERS}w-1`, hint(1))
        scripted.refuse(true)
      },
    })
    const answering = feed.position()
    await expect(within(clock, answering, 400)).rejects.toThrow('no answer')
    source.refuse(false)
    expect(await within(clock, answering, 100)).toBe('1')
  })

  it('is refused when there is no list after ten seconds', async () => {
    const { feed, clock } = await following({ prepare: scripted => scripted.refuse(true) })
    const answering = feed.position()
    await expect(within(clock, answering, 9_999)).rejects.toThrow('no answer')
    await expect(within(clock, answering, 1)).rejects.toBeInstanceOf(StoreError)
    await expect(within(clock, feed.since('1', 10), 10_000)).rejects.toBeInstanceOf(StoreError)
  })

  it('advances with changes and progress messages, never ahead of them', async () => {
    const history = keyHistory()
    const view = history.view()
    const { feed, settle } = await following({ parts: { source: view } })
    history.commit({ type: 'put', key: `${WORKERS}w-1`, hint: hint(1) })
    history.commit()
    history.commit({ type: 'put', key: `${WORKERS}w-1`, hint: hint(2) })
    await settle()
    expect(await feed.position()).toBe('0')
    view.show(1)
    await settle()
    expect(await feed.position()).toBe('1')
    view.show(2)
    await settle()
    expect(await feed.position()).toBe('2')
    view.show(3)
    await settle()
    expect(await feed.position()).toBe('3')
  })

  it('stays while etcd is unreachable', async () => {
    const { source, feed, put, clock } = await following()
    put('w-1', 1)
    await clock.advance(0)
    source.refuse(true)
    source.breakStreams()
    await clock.advance(60_000)
    expect(await feed.position()).toBe('1')
  })
})

describe('changes', () => {
  it('come in the order of their revisions, each with its position', async () => {
    const { feed, put, since, settle } = await following()
    const start = await feed.position()
    put('w-1', 1)
    put('w-2', 1)
    put('w-1', 2)
    await settle()
    expect(await since(start)).toEqual(['w-1 v1', 'w-2 v1', 'w-1 v2'])
    expect(await since(start, 2)).toEqual(['w-1 v1', 'w-2 v1'])
    const answer = await feed.since(start, 2)
    expect(answer).toEqual({
      known: true,
      changes: [
        { kind: 'worker', id: 'w-1', version: 1, deleted: false, position: '1' },
        { kind: 'worker', id: 'w-2', version: 1, deleted: false, position: '2' },
      ],
    })
    expect(await since('2')).toEqual(['w-1 v2'])
    expect(await since(await feed.position())).toEqual([])
  })

  it('never return to a version that was delivered, listed or deleted', async () => {
    const { source, put, remove, since, settle } = await following({
      prepare: scripted => scripted.put(`${WORKERS}w-2`, hint(7)),
    })
    for (const version of [3, 2, 3, 4]) put('w-1', version)
    put('w-2', 7)
    put('w-2', 8)
    remove('w-1', 5)
    put('w-1', 4)
    source.put(`${WORKERS}w-3`, hint(0))
    await settle()
    expect(await since('1')).toEqual(['w-1 v3', 'w-1 v4', 'w-2 v8', 'w-1 v5 gone'])
  })

  it('deliver a deletion once, with its own version', async () => {
    const { put, remove, since, settle } = await following()
    put('w-1', 4)
    remove('w-1', 5)
    await settle()
    expect(await since('0')).toEqual(['w-1 v4', 'w-1 v5 gone'])
    const late = await following({
      prepare: scripted => {
        scripted.put(`${WORKERS}w-1`, hint(4))
        scripted.put(`${WORKERS}w-1`, goneHint(5))
        scripted.delete(`${WORKERS}w-1`)
      },
    })
    expect(await late.since('1', 100, 500)).toEqual(['w-1 v5 gone'])
  })

  it('of unpublished keys advance the position, and are neither delivered nor kept', async () => {
    const { source, feed, put, since, settle } = await following({ parts: { changesKept: 2 } })
    const start = await feed.position()
    put('w-1', 1)
    for (let term = 1; term <= 50; term += 1) source.put(SEAT, hint(term))
    source.delete(SEAT)
    put('w-1', 2)
    await settle()
    expect(await feed.position()).toBe('53')
    expect(await since(start)).toEqual(['w-1 v1', 'w-1 v2'])
    expect(source.calls).toEqual(['list', 'watch after 0'])
  })

  it('that cannot be read are skipped', async () => {
    const unreadable = (key: string) => {
      if (key.endsWith('w-1')) throw new Error('unreadable')
      return resourceOfKey(key)
    }
    const { put, since, settle, log, source } = await following({ parts: { resourceOfKey: unreadable } })
    put('w-1', 1)
    put('w-2', 1)
    await settle()
    expect(await since('0')).toEqual(['w-2 v1'])
    expect(log.messages('error')).toEqual(['reading a change key failed'])
    expect(source.calls).toEqual(['list', 'watch after 0'])
  })

  it('of one revision can be read one at a time without losing the others', async () => {
    const history = keyHistory()
    const view = history.view()
    const { feed, clock, since, settle } = await following({ parts: { source: view } })
    const putOf = (id: string, version: number) => ({ type: 'put', key: WORKERS + id, hint: hint(version) }) as const
    history.commit(putOf('w-1', 1), putOf('w-2', 1), putOf('w-3', 1))
    history.commit(putOf('w-1', 2))
    view.show(2)
    await settle()
    const seen: string[] = []
    for (let position = '0'; position !== '2'; ) {
      const answer = await feed.since(position, 1)
      const [change] = answer.known ? answer.changes : []
      if (change === undefined) throw new Error(`nothing after ${position}`)
      seen.push(`${change.position} ${change.id}`)
      position = change.position
    }
    expect(seen).toEqual(['1 w-1', '1.2 w-2', '1.3 w-3', '2 w-1'])
    const other = await following({ parts: { source: view, clock } })
    expect(await changesOf(clock, other.feed.since('1.2', 10), 500)).toEqual(['w-3 v1', 'w-1 v2'])
    expect(await since('1.3')).toEqual(['w-1 v2'])
  })
})

describe('a position', () => {
  it.each(['', 'now', '-1', '1.0', '1.x', '1e3', ' 1', '9999999999999999'])('of %j is unknown', async position => {
    const { since } = await following()
    expect(await since(position)).toBe('unknown')
  })

  it('ahead of this replica is awaited for two seconds', async () => {
    const { feed, put, since, clock } = await following()
    put('w-1', 1)
    await clock.advance(0)
    const answering = feed.since('2', 10)
    await expect(within(clock, answering, 1_999)).rejects.toThrow('no answer')
    put('w-1', 2)
    expect(await changesOf(clock, answering, 0)).toEqual([])
    await expect(since('3', 10, 1_999)).rejects.toThrow('no answer')
    expect(await since('3', 10, 2_000)).toBe('unknown')
  })
})

it('accepts a position of another replica when only other keys have changed', async () => {
  const history = keyHistory()
  const view = history.view({ hasVagueSigns: true })
  const { feed, clock, settle } = await following({ parts: { source: view } })
  const putAt = (version: number) => {
    history.commit({ type: 'put', key: `${WORKERS}w-1`, hint: hint(version) })
    view.show(history.revision)
  }
  putAt(1)
  history.commit()
  history.commit()
  view.show(3)
  await settle()
  expect(await feed.position()).toBe('1')
  expect(await changesOf(clock, feed.since('3', 10), 2_000)).toEqual([])
  expect(await changesOf(clock, feed.since('4', 10), 2_000)).toBe('unknown')
  putAt(2)
  await settle()
  expect(await changesOf(clock, feed.since('3', 10), 0)).toEqual(['w-1 v2'])
})

it('rejects a position ahead of it when the source is unreachable', async () => {
  const { source, since, put, settle } = await following()
  put('w-1', 1)
  await settle()
  source.refuse(true)
  expect(await since('2', 10, 2_000)).toBe('unknown')
  source.refuse(false)
  source.silence(true)
  expect(await since('2', 10, 3_000)).toBe('unknown')
})

/** A feed that keeps at most two changes and has received five. */
async function longHistory(script: Script = {}) {
  const world = await following({ ...script, parts: { changesKept: 2, ...script.parts } })
  for (let version = 1; version <= 5; version += 1) world.put('w-1', version)
  await world.settle()
  return world
}

describe('a position older than the ring', () => {
  it('is read from the source, up to the ring', async () => {
    const { since, source } = await longHistory()
    expect(await since('1')).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4', 'w-1 v5'])
    expect(await since('0', 3)).toEqual(['w-1 v1', 'w-1 v2', 'w-1 v3'])
    expect(await since('1', 3)).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4'])
    expect(source.calls.slice(2)).toEqual(['watch after 0', 'watch after 0', 'watch after 0'])
    expect(source.openStreams).toBe(1)
    expect(await since('3')).toEqual(['w-1 v4', 'w-1 v5'])
    expect(source.calls).toHaveLength(5)
  })

  it('delivers each version once there too', async () => {
    const { source, put, since, settle } = await following({ parts: { changesKept: 1 } })
    for (const version of [2, 1, 2, 3]) put('w-1', version)
    source.put(SEAT, hint(1))
    put('w-2', 1)
    await settle()
    expect(await since('0')).toEqual(['w-1 v2', 'w-1 v3', 'w-2 v1'])
  })

  it('is read once for concurrent callers, and kept when the ring has space', async () => {
    const { source, put, feed, clock, since, settle } = await following({
      prepare: scripted => {
        for (let version = 1; version <= 3; version += 1) scripted.put(`${WORKERS}w-1`, hint(version))
      },
    })
    put('w-1', 4)
    await settle()
    const [one, other] = [feed.since('1', 10), feed.since('1', 10)]
    expect(await changesOf(clock, one, 0)).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4'])
    expect(await other).toEqual(await one)
    expect(await since('1')).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4'])
    expect(await since('2')).toEqual(['w-1 v3', 'w-1 v4'])
    expect(source.calls).toEqual(['list', 'watch after 3', 'watch after 0'])
  })

  it('keeps a ring that another caller extended further back', async () => {
    const history = keyHistory()
    const view = history.view()
    for (let version = 1; version <= 5; version += 1)
      history.commit({ type: 'put', key: `${WORKERS}w-1`, hint: hint(version) })
    view.show(5)
    let goOn = (): void => undefined
    const gate = new Promise<void>(resolve => {
      goOn = resolve
    })
    async function* slowly(messages: AsyncIterable<WatchMessage<ChangeHint>>) {
      await gate
      yield* messages
    }
    const watch = (after: number, signal: AbortSignal) =>
      after === 2 ? slowly(view.watch(after, signal)) : view.watch(after, signal)
    const { feed, clock, since } = await following({ parts: { source: { ...view, watch } } })
    const slow = feed.since('3', 10)
    expect(await since('1', 10)).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4', 'w-1 v5'])
    goOn()
    expect(await changesOf(clock, slow, 0)).toEqual(['w-1 v4', 'w-1 v5'])
    expect(await since('1', 10)).toEqual(['w-1 v2', 'w-1 v3', 'w-1 v4', 'w-1 v5'])
  })

  it('has no changes after half a second of silence, and loses none', async () => {
    const { source, put, since, settle } = await following({
      prepare: scripted => {
        scripted.put(`${WORKERS}w-1`, hint(1))
        scripted.put(SEAT, hint(1))
        scripted.put(`${WORKERS}w-2`, hint(1))
        scripted.delete(`${WORKERS}w-2`)
        scripted.delete(SEAT)
      },
    })
    source.silence(false)
    expect(await since('3', 100, 500)).toEqual([])
    put('w-1', 2)
    await settle()
    expect(await since('3')).toEqual(['w-1 v2'])
    expect(source.openStreams).toBe(1)
  })

  it('is unknown after compaction, while the ring stays known', async () => {
    const { since, source } = await longHistory()
    source.compact()
    expect(await since('1')).toBe('unknown')
    expect(await since('3')).toEqual(['w-1 v4', 'w-1 v5'])
  })

  it('is refused, not unknown, when the source cannot be read', async () => {
    const { feed, source, clock } = await longHistory()
    source.refuse(true)
    await expect(within(clock, feed.since('1', 10), 0)).rejects.toBeInstanceOf(StoreError)
    source.refuse(false)
    source.silence(true)
    const answering = feed.since('1', 10)
    await expect(within(clock, answering, 9_999)).rejects.toThrow('no answer')
    await expect(within(clock, answering, 1)).rejects.toBeInstanceOf(StoreError)
  })

  it('is not idle before the source is open', async () => {
    const { feed, source, clock } = await following({ prepare: scripted => scripted.put(`${WORKERS}w-1`, hint(1)) })
    source.silence(true)
    await expect(within(clock, feed.since('0', 10), 10_000)).rejects.toBeInstanceOf(StoreError)
  })

  it('is unknown when etcd was rebuilt, before the stream notices', async () => {
    const source = scriptedWatchSource<ChangeHint>()
    let isRebuilt = false
    const rebuilt = async function* () {
      yield { type: 'progress', revision: 0 } as const
    }
    const watch: typeof source.watch = (after, signal) => (isRebuilt ? rebuilt() : source.watch(after, signal))
    const { feed, clock, settle } = await following({ parts: { source: { list: source.list, watch }, changesKept: 2 } })
    for (let version = 1; version <= 5; version += 1) source.put(`${WORKERS}w-1`, hint(version))
    await settle()
    isRebuilt = true
    expect(await changesOf(clock, feed.since('2', 10), 0)).toBe('unknown')
  })
})

/** A feed whose second watch, the one of a catch-up, is controlled by the test. */
async function withSecondWatch(
  play: (clock: ManualClock, signal: AbortSignal) => AsyncIterable<WatchMessage<ChangeHint>>,
) {
  const source = scriptedWatchSource<ChangeHint>()
  const clock = manualClock()
  const watch: typeof source.watch = (after, signal) =>
    source.calls.some(call => call.startsWith('watch')) ? play(clock, signal) : source.watch(after, signal)
  const { feed } = await following({ parts: { clock, source: { list: source.list, watch }, changesKept: 2 } })
  for (let version = 1; version <= 5; version += 1) source.put(`${WORKERS}w-1`, hint(version))
  await clock.advance(0)
  return { feed, clock }
}
const putAt = (revision: number) => ({ type: 'put', key: `${WORKERS}w-1`, hint: hint(revision), revision }) as const
const OPENED = { type: 'progress', revision: 0 } as const

describe('reading back', () => {
  it('stops as soon as it has enough', async () => {
    const { feed, clock } = await withSecondWatch(async function* (time) {
      yield* [OPENED, putAt(1), putAt(2)]
      await time.sleep(60_000)
    })
    const two = await changesOf(clock, feed.since('0', 2), 0)
    expect(two).toEqual(['w-1 v1', 'w-1 v2'])
  })

  it('returns a partial answer when the stream breaks', async () => {
    const { feed, clock } = await withSecondWatch(async function* () {
      yield* [OPENED, putAt(1), putAt(2)]
      throw new Error('connection reset')
    })
    expect(await changesOf(clock, feed.since('0', 10), 0)).toEqual(['w-1 v1', 'w-1 v2'])
  })

  it('waits while there is more to read', async () => {
    const { feed, clock } = await withSecondWatch(async function* (time, signal) {
      yield OPENED
      await time.sleep(9_000, signal)
      if (!signal.aborted) yield* [putAt(1), putAt(2), putAt(3)]
    })
    expect(await changesOf(clock, feed.since('0', 10), 9_000)).toEqual([
      'w-1 v1',
      'w-1 v2',
      'w-1 v3',
      'w-1 v4',
      'w-1 v5',
    ])
  })
})

describe('listeners', () => {
  it('are woken by published changes only, and only while they are subscribed', async () => {
    const { feed, source, put, settle } = await following()
    let wakes = 0
    const leave = feed.onCommit(() => {
      wakes += 1
    })
    put('w-1', 1)
    await settle()
    expect(wakes).toBe(1)
    put('w-1', 1)
    source.put(SEAT, hint(1))
    source.progress()
    await settle()
    expect(wakes).toBe(1)
    leave()
    put('w-1', 2)
    await settle()
    expect(wakes).toBe(1)
  })

  it('are woken when everything was listed again', async () => {
    const { feed, source, clock } = await following()
    let wakes = 0
    feed.onCommit(() => {
      wakes += 1
    })
    source.put(SEAT, hint(1))
    source.breakStreams()
    source.put(SEAT, hint(2))
    source.compact()
    await clock.advance(500)
    expect(wakes).toBe(1)
  })
})

describe('the service', () => {
  it('reconnects at its position with growing backoff', async () => {
    const { source, put, since, clock, log, settle } = await following()
    put('w-1', 1)
    await settle()
    source.refuse(true)
    source.breakStreams()
    await clock.advance(500 + 1_000 + 2_000 + 4_000 + 8_000 + 10_000 + 9_999)
    expect(source.calls.slice(2)).toEqual(Array(6).fill('watch after 1'))
    put('w-1', 2)
    source.refuse(false)
    await clock.advance(1)
    expect(await since('0')).toEqual(['w-1 v1', 'w-1 v2'])
    expect(log.messages('warn')).toHaveLength(7)
    expect(log.messages('info')).toEqual(['change feed is connected again'])
    source.breakStreams()
    await clock.advance(500)
    expect(source.calls.slice(2)).toEqual(Array(8).fill('watch after 1').with(7, 'watch after 2'))
  })

  it('closes a stream or list without a message for ten seconds', async () => {
    const { source, clock, feed } = await following({ prepare: scripted => scripted.silence(true) })
    await clock.advance(10_000)
    source.silence(false)
    await clock.advance(500)
    expect(source.calls).toEqual(['list', 'list', 'watch after 0'])
    await clock.advance(9_999)
    source.progress()
    await clock.advance(9_999)
    expect(source.openStreams).toBe(1)
    await clock.advance(1)
    expect(source.openStreams).toBe(0)
    await clock.advance(500)
    expect(source.calls.slice(3)).toEqual(['watch after 0'])
    expect(await feed.position()).toBe('0')
  })

  it('lists again after a compaction, and no longer knows the positions from before', async () => {
    const { source, put, since, feed, clock, log } = await following()
    put('w-1', 1)
    put('w-1', 2)
    await clock.advance(0)
    source.breakStreams()
    put('w-1', 3)
    put('w-2', 1)
    source.compact()
    await clock.advance(500)
    expect(log.messages('info')).toEqual(['change feed lists all keys again', 'change feed is connected again'])
    expect(await feed.position()).toBe('4')
    expect(await since('1')).toBe('unknown')
    expect(await since('2')).toBe('unknown')
    put('w-1', 3)
    put('w-1', 4)
    await clock.advance(0)
    expect(await since('4')).toEqual(['w-1 v4'])
  })

  it('lists again when etcd was rebuilt, and rejects older positions', async () => {
    const { source, put, since, feed, clock } = await following()
    for (const id of ['w-1', 'w-2', 'w-3']) put(id, 1)
    put('w-1', 2)
    await clock.advance(0)
    source.restartHistory()
    source.refuse(true)
    source.breakStreams()
    await clock.advance(500)
    source.refuse(false)
    expect(await feed.position()).toBe('4')
    await clock.advance(1_000)
    expect(await feed.position()).toBe('3')
    expect(await since('4', 10, 2_000)).toBe('unknown')
    expect(await since('2')).toBe('unknown')
    put('w-1', 3)
    await clock.advance(0)
    expect(await since('3')).toEqual(['w-1 v3'])
    expect(await since('2')).toBe('unknown')
  })

  it('has no position between a rebuilt etcd and its list', async () => {
    const source = scriptedWatchSource<ChangeHint>()
    const slow = { ...source, list: async (signal: AbortSignal) => source.list(signal) }
    const { feed, clock } = await following({ parts: { source: slow } })
    source.put(`${WORKERS}w-1`, hint(1))
    source.put(`${WORKERS}w-1`, hint(2))
    await clock.advance(0)
    slow.list = async () => {
      throw new Error('connection refused')
    }
    source.restartHistory()
    source.breakStreams()
    await clock.advance(500)
    const answering = [feed.position(), feed.since('2', 10)] as const
    await expect(within(clock, answering[0], 1_000)).rejects.toThrow('no answer')
    slow.list = signal => source.list(signal)
    expect(await within(clock, answering[0], 2_000)).toBe('1')
    expect(await within(clock, answering[1], 2_000)).toEqual({ known: false })
  })

  it('answers a waiting caller from the history of its position', async () => {
    const { source, put, feed, clock } = await following()
    put('w-1', 1)
    put('w-1', 2)
    await clock.advance(0)
    const answering = feed.since('3', 10)
    source.restartHistory()
    source.breakStreams()
    await clock.advance(500)
    expect(await feed.position()).toBe('1')
    for (const version of [3, 4, 5]) put('w-1', version)
    expect(await changesOf(clock, answering, 0)).toBe('unknown')
  })

  it('detects a rebuilt etcd by a list too, and keeps its history after the next list', async () => {
    const { source, put, feed, clock, since } = await following({ parts: { changesKept: 1 } })
    for (const id of ['w-1', 'w-2', 'w-3', 'w-4']) put(id, 1)
    put('w-1', 2)
    await clock.advance(0)
    const list = source.list
    let isListing = false
    source.list = async signal => {
      if (!isListing) throw new Error('connection refused')
      return list(signal)
    }
    source.breakStreams()
    put('w-1', 3)
    source.compact()
    await clock.advance(500)
    source.restartHistory()
    isListing = true
    await clock.advance(1_000)
    expect(await feed.position()).toBe('4')
    expect(await since('3')).toBe('unknown')
    source.breakStreams()
    source.put(SEAT, hint(1))
    source.compact()
    for (const version of [4, 5, 6]) put('w-1', version)
    await clock.advance(500)
    expect(await feed.position()).toBe('8')
    expect(await since('6')).toEqual(['w-1 v5', 'w-1 v6'])
  })

  it('lists at once after a compaction, and backs off when compactions repeat', async () => {
    const source = scriptedWatchSource<ChangeHint>()
    let isCompacting = true
    const watch: typeof source.watch = (after, signal) => {
      if (isCompacting) throw new WatchCompacted(after)
      return source.watch(after, signal)
    }
    const { clock } = await following({ parts: { source: { list: source.list, watch } } })
    const lists = () => source.calls.filter(call => call === 'list').length
    expect(lists()).toBe(2)
    await clock.advance(500 + 1_000 + 2_000)
    expect(lists()).toBe(5)
    isCompacting = false
    await clock.advance(4_000)
    expect(lists()).toBe(6)
    isCompacting = true
    source.breakStreams(new WatchCompacted(0))
    await clock.advance(0)
    expect(lists()).toBe(7)
  })

  it('has a position as soon as it has listed, even if the watch fails', async () => {
    const source = scriptedWatchSource<ChangeHint>()
    const hanging: typeof source.watch = (after, signal) => {
      source.silence(true)
      return source.watch(after, signal)
    }
    source.refuse(true)
    const { feed, clock } = await following({ parts: { source: { list: source.list, watch: hanging } } })
    const answering = feed.position()
    source.refuse(false)
    expect(await within(clock, answering, 500)).toBe('0')
  })

  it('releases waiting callers when it stops', async () => {
    const { source, feed, clock, stop, ended } = await longHistory()
    const ahead = feed.since('9', 10)
    source.silence(true)
    const behind = feed.since('1', 10)
    behind.catch(() => undefined)
    await clock.advance(100)
    stop.abort()
    await within(clock, ended, 0)
    expect(await within(clock, ahead, 0)).toEqual({ known: false })
    await expect(within(clock, behind, 0)).rejects.toBeInstanceOf(StoreError)
    expect(clock.timersLeft()).toBe(0)
    expect(source.openStreams).toBe(0)
    const never = await following({ prepare: scripted => scripted.refuse(true) })
    const waiting = never.feed.position()
    never.stop.abort()
    await expect(within(never.clock, waiting, 0)).rejects.toBeInstanceOf(StoreError)
    expect(never.clock.timersLeft()).toBe(0)
  })
})
