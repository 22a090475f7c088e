import { manualClock } from '@lcm/testkit/manual-clock'
import { beforeEach, describe, expect, it } from 'vitest'
import { type StaleWhileRevalidate, staleWhileRevalidate } from './stale-while-revalidate.ts'

let clock: ReturnType<typeof manualClock>
let loads: number
let isDown: boolean
let kept: StaleWhileRevalidate<number>
beforeEach(() => {
  clock = manualClock()
  loads = 0
  isDown = false
  const load = async () => {
    loads += 1
    if (isDown) throw new Error('down')
    return loads
  }
  kept = staleWhileRevalidate(clock, load, { freshMs: 100, staleMs: 1_000, renewMs: 30, retryMs: 10 })
})

describe('a value that is kept fresh', () => {
  it('is loaded once, also for concurrent callers', async () => {
    expect(await Promise.all([kept.get(), kept.get(), kept.renew()])).toEqual([1, 1, 1])
    await clock.advance(99)
    expect(await kept.get()).toBe(1)
    await clock.advance(1)
    expect(await kept.get()).toBe(2)
  })

  it('is refreshed on read, at most once per interval', async () => {
    await kept.get()
    await clock.advance(29)
    expect(await kept.renew()).toBe(1)
    await clock.advance(1)
    expect(await kept.renew()).toBe(2)
    expect(await kept.renew()).toBe(2)
  })

  it('is used longer when it can’t be loaded again', async () => {
    await kept.get()
    isDown = true
    await clock.advance(999)
    expect(await kept.get()).toBe(1)
    await clock.advance(1)
    await expect(kept.get()).rejects.toThrow('down')
  })

  it('is returned without waiting while its source is unreachable', async () => {
    let answer = Promise.resolve(1)
    kept = staleWhileRevalidate(clock, () => answer, { freshMs: 100, staleMs: 1_000, renewMs: 30, retryMs: 10 })
    await kept.get()
    await clock.advance(100)
    answer = Promise.reject(new Error('down'))
    expect(await kept.get()).toBe(1)
    await clock.advance(10)
    let arrive: (value: number) => void = () => undefined
    answer = new Promise(resolve => {
      arrive = resolve
    })
    expect(await kept.get()).toBe(1)
    arrive(2)
    await clock.advance(0)
    expect(await kept.get()).toBe(2)
  })

  it('is not loaded again right after a failure', async () => {
    isDown = true
    await expect(kept.get()).rejects.toThrow('down')
    isDown = false
    await clock.advance(9)
    await expect(kept.get()).rejects.toThrow('down')
    expect(loads).toBe(1)
    await clock.advance(1)
    expect(await kept.get()).toBe(2)
  })
})
