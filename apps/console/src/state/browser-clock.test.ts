import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { ticking } from './browser-clock.ts'

it('ticks on every full second', async () => {
  const clock = manualClock(10_400)
  const nowMs = ticking(clock)
  expect(nowMs.value).toBe(10_400)
  await clock.advance(599)
  expect(nowMs.value).toBe(10_400)
  await clock.advance(1)
  expect(nowMs.value).toBe(11_000)
  await clock.advance(3_000)
  expect(nowMs.value).toBe(14_000)
})
