import type { CmlLabs } from '@lcm/cloud/cml-labs'
import type { CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { describe, expect, it } from 'vitest'
import { operatorOf } from '../people/operator-requests.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import { openWorld, type World } from '../world/world.ts'
import { aClass } from './class-fixture.ts'
import { aStory } from './story-fixture.ts'

/** The first calls of that name take effect, and their responses are lost. */
function firstAnswersLost<P extends object>(port: P, name: keyof P, count: number): P {
  const call = port[name]
  if (typeof call !== 'function') throw new Error(`${String(name)} can't be called`)
  let left = count
  const lost = async (...args: readonly unknown[]) => {
    const answer = await Reflect.apply(call, port, args)
    if (left === 0) return answer
    left -= 1
    throw new CloudError('transient', { code: 'ECONNRESET', action: String(name), message: 'the answer was lost' })
  }
  return { ...port, [name]: lost }
}

/** Runs until the response arrives. */
async function awaited<T>(world: World, answer: Promise<T>): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  answer.then(settle, settle)
  await world.untilTrue('an answer', () => isSettled, 10 * MINUTE_MS)
  return answer
}

describe('a CML response that is lost after the effect', () => {
  const LAB_CALLS: readonly (keyof CmlLabs)[] = ['import', 'start', 'stop', 'wipe', 'delete']
  it.each(LAB_CALLS)('of %s costs no session and leaves no lab', async name => {
    const { operator, learner, world, over } = await aClass(401, {
      defects: { labs: labs => firstAnswersLost(labs, name, 2) },
    })
    await operator.createAndRun('metal-1')
    const { id } = await learner.book('two')
    await learner.until(id, 'RUNNING', 20 * MINUTE_MS)
    expect(world.sessions.existingLabs()).toHaveLength(1)
    await learner.until(id, 'ARCHIVED')
    expect(world.sessions.existingLabs()).toEqual([])
    await over()
  })

  const LICENSE_CALLS: readonly (keyof CmlSystem)[] = ['register', 'deregister']
  it.each(LICENSE_CALLS)('of %s loses no license', async name => {
    const { operator, manual, world, done } = await aStory(402, {
      defects: { cml: cml => firstAnswersLost(cml, name, 1) },
    })
    const { id } = await operator.createAndRun('metal-1', { license: LICENSE })
    await world.untilTrue('a license', () => world.workers()[0]?.license.status === 'REGISTERED')
    expect(manual.seats()).toHaveLength(1)
    await operator.terminate(id)
    await world.until(id, 'TERMINATED', 4 * 60 * MINUTE_MS)
    expect(manual.seats()).toEqual([])
    await done()
  })
})

describe('an API that is killed in the middle of a request', () => {
  const POINTS = Array.from({ length: 12 }, (_, call) => (['before', 'after'] as const).map(when => ({ call, when })))
  it('executes a request repeated with the same key once, wherever it was killed', async () => {
    const world = await openWorld(403)
    const operator = operatorOf(world)
    await operator.set({ max_workers_per_region: 2 * POINTS.length })
    for (const { call, when } of POINTS.flat()) {
      const name = `${when}-${call}`
      world.api.killAt(call, when, 3_000)
      const id = await awaited(world, operator.create(name))
      expect(world.workers().filter(worker => worker.name === name)).toMatchObject([{ id }])
      await world.api.restore()
    }
    expect(world.api.kills).toBeGreaterThan(POINTS.length)
    await world.close()
  })
})

describe('a user request that is lost, or whose response is lost', () => {
  it('is repeated and executed once', async () => {
    const { world, operator, learner, over } = await aClass(404)
    await operator.createAndRun('metal-1')
    const { id, timeslot } = await learner.book('one', { duration_minutes: 30 })
    await learner.until(id, 'RUNNING')
    world.faults.apiRate = 0.5
    for (let minutes = 1; minutes <= 10; minutes += 1)
      await awaited(world, world.client.call('extendSession', { params: { id }, body: { minutes: 1 } }))
    world.faults.apiRate = 0
    const extended = await world.session(id)
    expect(Date.parse(extended.timeslot.end) - Date.parse(timeslot.end)).toBe(10 * MINUTE_MS)
    await over()
  })
})
