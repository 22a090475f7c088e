import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { inParallel } from './in-parallel.ts'

const items = (count: number) => Array.from({ length: count }, (_, n) => n)

it('does all of it, so many at once and never more', async () => {
  const clock = manualClock()
  const done: number[] = []
  let busy = 0
  let busiest = 0
  const ended = inParallel(items(7), 3, new AbortController().signal, async item => {
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

it('begins nothing more once it is over, and waits for what is under way', async () => {
  const clock = manualClock()
  const over = new AbortController()
  const done: number[] = []
  const ended = inParallel(items(9), 2, over.signal, async item => {
    await clock.sleep(1_000)
    done.push(item)
  })
  await clock.advance(500)
  over.abort()
  await clock.advance(500)
  await ended
  expect(done).toEqual([0, 1])
})

it('passes a failure on', async () => {
  const failing = inParallel(items(3), 2, new AbortController().signal, async item => {
    if (item === 1) throw new Error('one failed')
  })
  await expect(failing).rejects.toThrow('one failed')
})
