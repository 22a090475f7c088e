import { expect, it } from 'vitest'
import { aStory } from '../a-story.ts'
import { HOUR_MS, MINUTE_MS } from '../passing.ts'

it('a machine that somebody has protected against stops is counted until EC2 stops it', async () => {
  const { world, ask, hand, done } = await aStory(307)
  const { id, cost_per_hour_usd } = await ask.createAndRun('metal-1')
  const machine = await hand.machineOf(id)
  hand.keepRunning(machine, true)
  await ask.stop(id)
  const { billing: before } = await world.until(id, 'STOPPING')
  await world.runFor(2 * HOUR_MS)
  expect(hand.stateOf(machine)).toBe('running')
  hand.keepRunning(machine, false)
  const { billing: after } = await world.until(id, 'STOPPED', 20 * MINUTE_MS)
  expect((after.closed_usd - before.closed_usd) / cost_per_hour_usd).toBeCloseTo(2, 0)
  await done()
})
