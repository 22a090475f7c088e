import { assert } from '@lcm/domain/assert'
import { toMs } from '@lcm/domain/instant'
import { expect, it } from 'vitest'
import { aStory, type Story } from './story-fixture.ts'

async function createMany({ operator }: Story, prefix: string, count: number): Promise<readonly string[]> {
  const ids = []
  for (let n = 0; n < count; n += 1) ids.push(await operator.create(`${prefix}-${n}`))
  return ids
}

it('twenty stops are announced within half a second while sixty launches wait for the rate limit', async () => {
  const story = await aStory(711)
  const { world, operator } = story
  const running = await createMany(story, 'old', 20)
  for (const id of running) await world.until(id, 'RUNNING')
  await createMany(story, 'new', 60)
  await world.runFor(2_000)
  const waits = []
  for (const id of running) {
    const askedMs = world.time.clock.now()
    await operator.stop(id)
    const { entered_status_at } = await world.until(id, 'STOPPING')
    waits.push(toMs(entered_status_at) - askedMs)
  }
  const pendingLaunches = world.workers().filter(({ status }) => status === 'PENDING').length
  expect(pendingLaunches, 'launches that still wait').toBeGreaterThan(40)
  expect(Math.max(...waits)).toBeLessThanOrEqual(500)
  await story.done()
})

it('the first of a hundred launches is about as fast as a single one', async () => {
  const story = await aStory(712, { speed: 600 })
  const { world, operator } = story
  const single = await operator.createAndRun('single')
  const singleMs = toMs(single.entered_status_at) - toMs(single.created_at)
  const startedMs = world.time.clock.now()
  await createMany(story, 'many', 100)
  const isFirst = () => world.workers().some(({ name, status }) => name.startsWith('many') && status === 'RUNNING')
  await world.untilTrue('the first to run', isFirst)
  const firstMs = world.time.clock.now() - startedMs
  expect(firstMs).toBeLessThanOrEqual(1.5 * singleMs)
  await story.done()
})

it('a worker whose launch waits for the rate limit is terminated at once, without a machine', async () => {
  const story = await aStory(713)
  const { world, operator } = story
  const ids = await createMany(story, 'many', 40)
  await world.runFor(2_000)
  const waiting = world.workers().find(({ id, launch }) => id === ids.at(-1) && launch?.state === 'open')
  assert(waiting, 'its launch waits')
  await operator.terminate(waiting.id)
  await world.until(waiting.id, 'TERMINATED', 5_000)
  for (const id of ids.slice(0, -1)) await world.until(id, 'RUNNING')
  expect(world.liveMachines()).toBe(ids.length - 1)
  await story.done()
})
