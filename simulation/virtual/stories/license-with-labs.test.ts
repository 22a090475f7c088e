import { describe, expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import { aClass, type Class } from './class-fixture.ts'

/** A class on one worker that holds a license. */
async function licensedClass(seed: number): Promise<Class & { id: string; machine: string }> {
  const story = await aClass(seed)
  const { world, operator, manual } = story
  const { id } = await operator.createAndRun('metal-1', { license: LICENSE })
  await world.untilTrue('a license', () => world.workers()[0]?.license.status === 'REGISTERED')
  return { ...story, id, machine: await manual.machineOf(id) }
}

/** The worker is terminated, and its license was returned before. */
async function goneInOrder(
  { world, operator, manual, id }: Awaited<ReturnType<typeof licensedClass>>,
  machinesLeft = 0,
): Promise<void> {
  await world.until(id, 'TERMINATED', 10 * MINUTE_MS)
  expect(manual.seats()).toEqual([])
  expect(await operator.leaks()).toEqual([])
  expect(world.liveMachines()).toBe(machinesLeft)
  const acts = world.mutations.map(({ act }) => act)
  expect(acts.lastIndexOf('deregister')).toBeLessThan(acts.indexOf('terminate'))
}

describe('a worker that is terminated while labs hold its license', () => {
  it('stops the lab of a session first, which gets another worker meanwhile', async () => {
    const story = await licensedClass(121)
    const { world, learner, id, over } = story
    const session = await learner.book('two', { duration_minutes: 60 })
    await learner.until(session.id, 'RUNNING')
    await world.client.call('terminateWorker', { params: { id }, body: { force: true } })
    await goneInOrder(story, 1)
    const moved = await learner.until(session.id, 'RUNNING')
    expect(moved.worker_id).not.toBe(id)
    await learner.cancel(session.id)
    await over()
  })

  it('stops manually started labs once they are discovered', async () => {
    const story = await licensedClass(122)
    const { world, operator, manual, id, machine, over } = story
    manual.onCml(machine, 'POST start-lab', { username: 'ada' })
    await operator.terminate(id)
    await world.untilTrue('a word of it', () => {
      const { conditions = [] } = world.workers()[0] ?? {}
      return conditions.some(
        ({ type, reason }) => type === 'ReturningLicense' && reason.code === 'license_return_refused',
      )
    })
    expect(world.liveMachines()).toBe(1)
    await goneInOrder(story)
    await over()
  })

  it('stops them also after an outage of its CML', async () => {
    const story = await licensedClass(123)
    const { world, operator, manual, id, machine, over } = story
    manual.onCml(machine, 'POST start-lab', { username: 'ada' })
    world.access.isCmlCut = true
    await world.untilTrue('silence', () => world.workers()[0]?.service_status === 'UNAVAILABLE')
    await operator.terminate(id)
    await world.runFor(5 * MINUTE_MS)
    world.access.isCmlCut = false
    await goneInOrder(story)
    await over()
  })
})
