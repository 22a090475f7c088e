import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

describe('a drain', () => {
  it('waits for the last session, then stops the worker', async () => {
    const { world, operator, done } = await aStory(301)
    const { id } = await operator.createAndRun('metal-1')
    await operator.sessions(id, ['ls-1', 'ls-2'])
    await operator.drain(id)
    await world.until(id, 'DRAINING')
    await world.runFor(HOUR_MS)
    await operator.sessions(id, ['ls-2'])
    await world.runFor(HOUR_MS)
    expect((await world.worker(id)).status).toBe('DRAINING')
    expect(world.mutations.map(({ act }) => act)).not.toContain('stop')
    await operator.sessions(id, [])
    await world.until(id, 'STOPPED', 20 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ desired_status: 'STOPPED', drain: null })
    await done()
  })

  it('terminates the worker when requested', async () => {
    const { world, operator, done } = await aStory(302)
    const { id } = await operator.createAndRun('metal-1')
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    await operator.drain(id, { then: 'TERMINATED' })
    await world.until(id, 'TERMINATED', 20 * MINUTE_MS)
    await done()
  })

  it('that is canceled leaves the worker running', async () => {
    const { world, operator, done } = await aStory(303)
    const { id } = await operator.createAndRun('metal-1')
    await operator.sessions(id, ['ls-1'])
    await operator.drain(id)
    await world.until(id, 'DRAINING')
    await operator.cancelDrain(id)
    await world.until(id, 'RUNNING')
    await operator.sessions(id, [])
    await world.runFor(30 * MINUTE_MS)
    expect(await world.worker(id)).toMatchObject({ status: 'RUNNING', desired_status: 'RUNNING', drain: null })
    await done()
  })

  it('whose sessions do not end stops the worker at its deadline, and the journal says so', async () => {
    const { world, operator, done } = await aStory(304)
    const { id } = await operator.createAndRun('metal-1')
    await operator.sessions(id, ['ls-1'])
    await operator.drain(id, { timeout_seconds: 3600 })
    await world.until(id, 'DRAINING')
    await world.runFor(55 * MINUTE_MS)
    expect((await world.worker(id)).status).toBe('DRAINING')
    await world.until(id, 'STOPPED', 20 * MINUTE_MS)
    const scaling = await operator.journal('scaling', `worker:${id}`)
    expect(scaling.map(({ body }) => ('outcome' in body ? body.outcome : ''))).toContain('drained')
    const history = (await world.worker(id)).state_history
    expect(history.find(change => change.to === 'STOPPING')?.because).toMatchObject({
      code: 'drain_timeout',
      params: { sessions: 1 },
    })
    await done()
  })
})
