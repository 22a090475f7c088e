import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { inParallel } from './in-parallel.ts'

const items = (count: number) => Array.from({ length: count }, (_, n) => n)

it('runs all items, never more than atOnce at a time', async () => {
  const clock = manualClock()
  const done: number[] = []
  let busy = 0
  let busiest = 0
  const ended = inParallel(items(7), { atOnce: 3 }, async item => {
    busy += 1
    busiest = Math.max(busiest, busy)
    await clock.sleep(1_000)
    busy -= 1
    done.push(item)
  })
  await clock.advance(2_000)
  expect([busiest, done]).toEqual([3, [0, 1, 2, 3, 4, 5]])
  await clock.advance(1_000)
  await ended
  expect(done).toEqual(items(7))
})

it('begins nothing after an abort, and waits for work in progress', async () => {
  const clock = manualClock()
  const over = new AbortController()
  const done: number[] = []
  const ended = inParallel(items(9), { atOnce: 2, signal: over.signal }, async item => {
    await clock.sleep(1_000)
    done.push(item)
  })
  await clock.advance(500)
  over.abort()
  await clock.advance(500)
  await ended
  expect(done).toEqual([0, 1])
})

it('throws a failure', async () => {
  const failing = inParallel(items(3), { atOnce: 2 }, async item => {
    if (item === 1) throw new Error('one failed')
  })
  await expect(failing).rejects.toThrow('one failed')
})

const laneOf = (item: string) => item.charAt(0)

describe('lanes', () => {
  it('keep the order within a lane, with atOnce lanes at a time', async () => {
    const clock = manualClock()
    const begun: string[] = []
    let [inProgress, most] = [0, 0]
    const done = inParallel(['a1', 'b1', 'a2', 'c1', 'b2', 'a3'], { atOnce: 2, laneOf }, async item => {
      begun.push(item)
      inProgress += 1
      most = Math.max(most, inProgress)
      await clock.sleep(10)
      inProgress -= 1
    })
    await clock.advance(100)
    await done
    expect(most).toBe(2)
    expect(begun.filter(item => item.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
    expect(begun.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
  })

  it('begin nothing after a failure, which is thrown once work in progress has ended', async () => {
    const clock = manualClock()
    const ended: string[] = []
    const outcome = inParallel(['a1', 'b1', 'a2', 'b2', 'c1'], { atOnce: 2, laneOf }, async item => {
      await clock.sleep(item === 'a1' ? 10 : 50)
      if (item === 'a1') throw new Error('a1 failed')
      ended.push(item)
    }).catch((error: Error) => `${error.message} after ${ended.join()}`)
    await clock.advance(100)
    expect(await outcome).toBe('a1 failed after b1')
    await clock.advance(1000)
    expect(ended).toEqual(['b1'])
  })
})
