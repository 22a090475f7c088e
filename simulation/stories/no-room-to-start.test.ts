import { expect, it } from 'vitest'
import { aStory } from '../a-story.ts'
import { MINUTE_MS } from '../passing.ts'

it('a start that finds no room is shown, tried again slowly, and not shown any longer once there is some', async () => {
  const { world, ask, hand, done } = await aStory(605)
  const { id, availability_zone, instance_type } = await ask.createAndRun('metal-1')
  await ask.stop(id)
  await world.until(id, 'STOPPED')
  hand.setRoom(availability_zone ?? '', instance_type ?? '', 0)
  await ask.start(id)
  await world.runFor(MINUTE_MS)
  const told = await world.worker(id)
  expect(told.conditions).toContainEqual(expect.objectContaining({ reason: 'NoCapacity', status: true }))
  await world.runFor(60 * MINUTE_MS)
  expect((await world.worker(id)).version, 'said once').toBe(told.version)
  expect(world.mutations.filter(({ act }) => act === 'start').length).toBeLessThanOrEqual(25)
  hand.setRoom(availability_zone ?? '', instance_type ?? '', null)
  const running = await world.until(id, 'RUNNING', 10 * MINUTE_MS)
  expect(running.conditions.map(({ reason }) => reason)).not.toContain('NoCapacity')
  await done()
})
