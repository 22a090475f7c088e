import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

/** A poll, the listing that it may share, and its own time. */
const ONE_CYCLE_MS = 45_000

describe('a worker that is drained while it has a session', () => {
  it.each([
    ['stop', 311],
    ['terminate', 312],
  ] as const)('becomes UNAVAILABLE within a cycle of a %s outside LCM', async (act, seed) => {
    const { world, operator, manual, done } = await aStory(seed, { speed: 1 })
    const { id } = await operator.createAndRun('metal-1')
    await operator.sessions(id, ['ls-1'])
    await operator.drain(id)
    await world.until(id, 'DRAINING')
    await world.runFor(MINUTE_MS)
    manual[act](await manual.machineOf(id))
    await world.runFor(ONE_CYCLE_MS)
    expect((await world.worker(id)).service_status).toBe('UNAVAILABLE')
    expect(world.mutations.map(mutation => mutation.act)).not.toContain('stop')
    await world.runFor(HOUR_MS)
    expect((await world.worker(id)).status).toBe(act === 'stop' ? 'DRAINING' : 'TERMINATED')
    await done()
  })
})
