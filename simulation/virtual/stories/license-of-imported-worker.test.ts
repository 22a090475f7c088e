import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

/** A machine that is started and licensed manually before LCM discovers it at an age of two minutes. */
async function licensedByHand(seed: number) {
  const story = await aStory(seed)
  const machine = story.manual.plant({ 'cml-managed': 'true' })
  await story.world.runFor(1.5 * MINUTE_MS)
  story.manual.register(machine)
  await story.world.runFor(0.4 * MINUTE_MS)
  return { ...story, machine }
}

type Found = Awaited<ReturnType<typeof licensedByHand>>

async function found({ world }: Found): Promise<string> {
  await world.untilTrue('found', () => world.workers().length === 1, 15 * MINUTE_MS)
  expect(world.workers()[0]?.license).toMatchObject({ status: 'UNKNOWN', udi: null })
  return world.workers()[0]?.id ?? ''
}

async function terminated({ world, operator }: Found, id: string): Promise<void> {
  await operator.terminate(id)
  await world.until(id, 'TERMINATED', 200 * MINUTE_MS)
}

it('the license of a machine discovered as stopped is returned before its termination', async () => {
  const story = await licensedByHand(911)
  story.manual.stop(story.machine)
  const id = await found(story)
  await story.operator.approve(id)
  await terminated(story, id)
  expect(story.manual.seats()).toEqual([])
  expect(await story.operator.leaks()).toEqual([])
})

it('the license of a discovered machine whose CML does not respond is waited for, then recorded', async () => {
  const story = await licensedByHand(912)
  story.world.access.isCmlCut = true
  await terminated(story, await found(story))
  expect(story.manual.seats()).toHaveLength(1)
  expect(await story.operator.leaks()).toHaveLength(1)
})

it('the license of a discovered machine waits for an approval, without a boot, and is recorded after two hours', async () => {
  const story = await licensedByHand(913)
  story.manual.stop(story.machine)
  const id = await found(story)
  await terminated(story, id)
  expect(story.world.mutations.filter(({ act }) => act !== 'terminate')).toEqual([])
  expect(story.manual.seats()).toHaveLength(1)
  expect(await story.operator.leaks()).toHaveLength(1)
})

it('the license of a discovered machine is returned once the machine is approved while it waits', async () => {
  const story = await licensedByHand(914)
  const id = await found(story)
  await story.world.until(id, 'RUNNING')
  await story.operator.terminate(id)
  await story.world.runFor(30 * MINUTE_MS)
  const waits = (await story.world.worker(id)).conditions.find(({ type }) => type === 'ReturningLicense')
  expect(waits?.reason).toMatchObject({ code: 'license_return_needs_approval', params: { worker_id: id } })
  await story.operator.approve(id)
  await story.world.until(id, 'TERMINATED', 10 * MINUTE_MS)
  expect(story.manual.seats()).toEqual([])
  expect(await story.operator.leaks()).toEqual([])
})
