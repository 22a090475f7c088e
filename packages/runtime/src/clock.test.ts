import { getEventListeners } from 'node:events'
import { manualClock } from '@lcm/testkit/manual-clock'
import { describe, expect, it } from 'vitest'
import { systemClock } from './clock.ts'

describe('the system clock', () => {
  it('advances', async () => {
    const [wall, monotonic] = [systemClock.now(), systemClock.monotonic()]
    await systemClock.sleep(2)
    expect(systemClock.now()).toBeGreaterThanOrEqual(wall)
    expect(systemClock.monotonic()).toBeGreaterThan(monotonic)
  })

  it('fires a timer once, and never one that was canceled', async () => {
    const fired: string[] = []
    systemClock.after(0, () => fired.push('kept'))
    systemClock.after(0, () => fired.push('canceled'))()
    await systemClock.sleep(5)
    expect(fired).toEqual(['kept'])
  })

  it('does not fire a wait immediately that is too long for a timer', async () => {
    let hasFired = false
    const cancel = systemClock.after(Number.POSITIVE_INFINITY, () => {
      hasFired = true
    })
    await systemClock.sleep(5)
    cancel()
    expect(hasFired).toBe(false)
  })
})

describe('sleep', () => {
  it('ends with its signal, never rejects and leaves no listener behind', async () => {
    const clock = manualClock()
    const stop = new AbortController()
    const sleeping = clock.sleep(60_000, stop.signal)
    stop.abort()
    await sleeping
    await clock.sleep(60_000, stop.signal)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('removes its listener when it ends by itself', async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    void clock.sleep(10, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await clock.advance(10)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
