import { type ManualClock, manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type WorkItem, type WorkQueue, WorkQueueFull, workQueue } from './work-queue.ts'

let clock: ManualClock
let queue: WorkQueue<string>

beforeEach(() => {
  clock = manualClock()
  queue = workQueue({ clock })
})

function take(): WorkItem<string> {
  const item = queue.take()
  if (item === undefined) throw new Error('nothing is due')
  return item
}

const takeAll = () => {
  const keys: string[] = []
  for (let item = queue.take(); item; item = queue.take()) keys.push(item.key)
  return keys
}

describe('handing out', () => {
  it('merges repeated changes of a key', () => {
    queue.add('a')
    queue.add('a')
    expect(takeAll()).toEqual(['a'])
  })

  it('serves keys of one rank in the order of their arrival', () => {
    for (const key of ['c', 'a', 'b']) queue.add(key)
    expect(takeAll()).toEqual(['c', 'a', 'b'])
  })

  it('keeps the position of a key when more changes arrive', () => {
    for (const key of ['a', 'b', 'a']) queue.add(key)
    expect(takeAll()).toEqual(['a', 'b'])
  })

  it('serves changes before requeues before resyncs', () => {
    queue.add('requeued')
    queue.done(take(), { afterMs: 0, cause: 'requeue' })
    queue.offer('routine')
    queue.add('news')
    queue.offer('routine too')
    expect(takeAll()).toEqual(['news', 'requeued', 'routine', 'routine too'])
  })

  it('serves first whatever goes first, even if it was queued as a change before', () => {
    for (const key of ['a', 'b', 'c']) queue.add(key)
    queue.add('c', { goesFirst: true })
    queue.add('d', { goesFirst: true })
    queue.add('c')
    expect(takeAll()).toEqual(['c', 'd', 'a', 'b'])
  })

  it('moves a routine key up when it changes', () => {
    queue.offer('a')
    queue.offer('b')
    queue.add('b')
    expect(takeAll()).toEqual(['b', 'a'])
  })

  it('hands a key out once at a time', () => {
    queue.add('a')
    const item = take()
    queue.add('a')
    queue.offer('a')
    expect(queue.take()).toBeUndefined()
    queue.done(item)
    expect(takeAll()).toEqual(['a'])
  })

  it('rejects a key that is returned twice', () => {
    queue.add('a')
    const item = take()
    queue.done(item)
    expect(() => queue.done(item)).toThrow('a was returned but is not active')
  })

  it('keeps a change during work even when the work requests a long wait', () => {
    queue.add('a')
    const item = take()
    queue.add('a')
    queue.done(item, { afterMs: 60_000, cause: 'retry' })
    expect(takeAll()).toEqual(['a'])
  })

  it('reports when a key becomes due', async () => {
    const calls: string[] = []
    const spoken = workQueue({ clock, onDue: () => calls.push('due') })
    spoken.add('a')
    spoken.add('b', { afterMs: 10 })
    expect(calls).toHaveLength(1)
    await clock.advance(10)
    expect(calls).toHaveLength(2)
  })
})

describe('waiting', () => {
  it('hands a key out after its delay and not before', async () => {
    queue.add('a', { afterMs: 500 })
    await clock.advance(499)
    expect(takeAll()).toEqual([])
    await clock.advance(1)
    expect(takeAll()).toEqual(['a'])
  })

  it('uses the earliest time, whichever came first', async () => {
    queue.add('a', { afterMs: 500 })
    queue.add('a', { afterMs: 100 })
    queue.add('b', { afterMs: 100 })
    queue.add('b', { afterMs: 500 })
    await clock.advance(100)
    expect(takeAll()).toEqual(['a', 'b'])
  })

  it('lets the work request an earlier time than a change in the meantime', async () => {
    queue.add('a')
    const item = take()
    queue.add('a', { afterMs: 1_000 })
    queue.done(item, { afterMs: 100, cause: 'requeue' })
    await clock.advance(100)
    expect(takeAll()).toEqual(['a'])
  })

  it('ends a wait early on a change', async () => {
    queue.add('a')
    queue.done(take(), { afterMs: 32_000, cause: 'retry' })
    queue.add('a', { afterMs: 500 })
    await clock.advance(500)
    expect(takeAll()).toEqual(['a'])
  })

  it('never ends a wait early on an offer, nor wakes twice for both', async () => {
    queue.add('a')
    queue.done(take(), { afterMs: 32_000, cause: 'retry' })
    queue.offer('a')
    await clock.advance(31_999)
    expect(takeAll()).toEqual([])
    await clock.advance(1)
    const item = take()
    queue.done(item)
    expect(takeAll()).toEqual([])
  })

  it('drops an offer made during work when the work requests a wait', async () => {
    queue.add('a')
    const item = take()
    queue.offer('a')
    queue.done(item, { afterMs: 8_000, cause: 'retry' })
    await clock.advance(7_999)
    expect(takeAll()).toEqual([])
  })

  it('keeps an offer made during work when the work requests nothing', () => {
    queue.add('a')
    const item = take()
    queue.offer('a')
    queue.done(item)
    expect(takeAll()).toEqual(['a'])
  })

  it('treats a wait that is not a positive number as none', () => {
    queue.add('a', { afterMs: Number.NaN })
    queue.add('b', { afterMs: -5 })
    expect(takeAll()).toEqual(['a', 'b'])
  })

  it('has one timer for all waits', async () => {
    for (const afterMs of [300, 500, 400, 200]) queue.add(`in ${afterMs}`, { afterMs })
    expect(clock.timersLeft()).toBe(1)
    await clock.advance(500)
    expect(takeAll()).toEqual(['in 200', 'in 300', 'in 400', 'in 500'])
  })

  it('keeps waiting when its timer fires early', async () => {
    const hasty = workQueue({ clock: { ...clock, after: (ms, run) => clock.after(ms > 1 ? ms - 1 : ms, run) } })
    hasty.add('a', { afterMs: 10 })
    await clock.advance(9)
    expect(hasty.take()).toBeUndefined()
    await clock.advance(1)
    expect(hasty.take()?.key).toBe('a')
  })
})

describe('copies', () => {
  it('passes on the offered copy', () => {
    queue.offer('a', { copy: 'listed' })
    expect(take().copy).toBe('listed')
  })

  it('prefers the copy of the newest listing', () => {
    queue.offer('a', { copy: 'old' })
    queue.offer('a', { copy: 'new' })
    expect(take().copy).toBe('new')
  })

  it('drops the copy when a change arrives after the listing', () => {
    queue.offer('a', { copy: 'listed' })
    queue.add('a')
    expect(take().copy).toBeUndefined()
  })

  it('gives no copy to a change from before the listing', () => {
    queue.add('a')
    queue.offer('a', { copy: 'listed' })
    expect(take().copy).toBeUndefined()
  })

  it('drops a copy that was listed while the key was active', () => {
    queue.add('a')
    const item = take()
    queue.offer('a', { copy: 'listed' })
    queue.done(item)
    expect(take().copy).toBeUndefined()
  })

  it('records which keys changed while a listing was read', () => {
    queue.add('before')
    const listing = queue.openListing()
    queue.add('news')
    queue.forget('gone')
    take()
    expect(['before', 'news', 'gone', 'quiet'].map(listing.isTouched)).toEqual([true, true, true, false])
    listing.close()
    queue.add('quiet')
    expect(listing.isTouched('quiet')).toBe(false)
  })
})

describe('forgetting', () => {
  it('drops plans', async () => {
    queue.add('due')
    queue.add('waiting', { afterMs: 10 })
    queue.forget('due')
    queue.forget('waiting')
    queue.forget('unknown')
    await clock.advance(10)
    expect(takeAll()).toEqual([])
    expect(queue.depth).toBe(0)
  })

  it('drops what the active work requests', async () => {
    queue.add('a')
    const item = take()
    queue.add('a')
    queue.forget('a')
    queue.done(item, { afterMs: 10, cause: 'requeue' })
    await clock.advance(10)
    expect(takeAll()).toEqual([])
  })

  it('keeps a change that arrives later', () => {
    queue.add('a')
    const item = take()
    queue.forget('a')
    queue.add('a')
    queue.done(item)
    expect(takeAll()).toEqual(['a'])
  })

  it('affects only the active work', async () => {
    queue.add('a')
    const item = take()
    queue.forget('a')
    queue.add('a')
    queue.done(item)
    queue.done(take(), { afterMs: 10, cause: 'requeue' })
    await clock.advance(10)
    expect(takeAll()).toEqual(['a'])
  })

  it('frees capacity, as do clearing and the end of work', () => {
    const small = workQueue({ clock, keysMax: 1 })
    small.add('a')
    small.forget('a')
    small.add('b')
    small.clear()
    small.add('c')
    const item = small.take()
    if (item) small.done(item)
    small.add('d')
    expect(small.depth).toBe(1)
  })

  it('leaves no timer behind when cleared, and drops what the active work requests', () => {
    queue.add('in hand')
    const item = take()
    queue.add('waiting', { afterMs: 60_000 })
    queue.clear()
    queue.done(item, { afterMs: 10, cause: 'requeue' })
    expect([clock.timersLeft(), queue.depth]).toEqual([0, 0])
  })

  it('drops all but active keys when cleared', async () => {
    queue.add('in hand')
    const item = take()
    queue.add('in hand')
    queue.add('due')
    queue.add('waiting', { afterMs: 10 })
    queue.clear()
    await clock.advance(10)
    expect(takeAll()).toEqual([])
    queue.add('in hand')
    expect(takeAll()).toEqual([])
    queue.done(item)
    expect(takeAll()).toEqual(['in hand'])
  })
})

describe('measures', () => {
  it('counts keys that are due, delayed, or active with a change', () => {
    queue.add('held')
    take()
    queue.add('held')
    queue.add('due')
    queue.add('waiting', { afterMs: 10 })
    expect([queue.depth, queue.due]).toEqual([3, 1])
  })

  it('reports how long the oldest due key has waited', async () => {
    expect(queue.oldestAgeMs()).toBe(0)
    queue.offer('old')
    await clock.advance(70)
    queue.add('young')
    await clock.advance(30)
    expect(queue.oldestAgeMs()).toBe(100)
    take()
    expect(queue.oldestAgeMs()).toBe(100)
    take()
    expect(queue.oldestAgeMs()).toBe(0)
  })

  it('counts the age of a delayed key from when it was due', async () => {
    queue.add('a', { afterMs: 100 })
    await clock.advance(130)
    expect(queue.oldestAgeMs()).toBe(30)
  })

  it('records when the first change of a key arrived', async () => {
    queue.add('a', { afterMs: 100 })
    await clock.advance(50)
    queue.add('a')
    expect(take().newsAt).toBe(0)
    queue.offer('b')
    expect(take().newsAt).toBeLessThan(0)
  })

  it('has no change time for what the work requested, nor for an offer made in the meantime', () => {
    queue.add('a')
    queue.done(take(), { afterMs: 0, cause: 'requeue' })
    expect(take().newsAt).toBeLessThan(0)
    queue.add('b')
    const item = take()
    queue.offer('b')
    queue.done(item)
    expect(take().newsAt).toBeLessThan(0)
  })

  it('counts a change during work separately', async () => {
    queue.add('a')
    const item = take()
    await clock.advance(50)
    queue.add('a')
    queue.done(item)
    expect(take().newsAt).toBe(50)
  })
})

describe('the limit', () => {
  it('rejects one distinct key too many with a clear error, and only that one', () => {
    const small = workQueue({ clock, keysMax: 2 })
    small.add('a')
    small.offer('b')
    expect(() => small.add('c')).toThrow(WorkQueueFull)
    expect(() => small.offer('c')).toThrow("can't queue c: 2 distinct keys are queued")
    small.add('a')
    small.offer('b')
    expect(small.depth).toBe(2)
  })

  it('never rejects what the active work requests', () => {
    const small = workQueue({ clock, keysMax: 1 })
    small.add('a')
    const item = small.take()
    if (item) small.done(item, { afterMs: 0, cause: 'requeue' })
    expect(small.due).toBe(1)
  })
})
