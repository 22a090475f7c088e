import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { pauses } from './capacity-calendar.ts'

it('a long computation leaves half of the time to other requests', async () => {
  const clock = manualClock()
  const pause = pauses(clock)
  await clock.advance(1)
  expect(pause()).toBeNull()
  await clock.advance(3)
  let isOver = false
  const due = pause()?.then(() => {
    isOver = true
  })
  await clock.advance(3)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await due
  expect(isOver).toBe(true)
  expect(pause()).toBeNull()
})
