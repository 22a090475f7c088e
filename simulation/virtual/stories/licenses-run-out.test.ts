import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import { aStory, type Story } from './story-fixture.ts'

/** Two workers that request a license from an account that owns one. */
async function tooFew(seed: number): Promise<Story & { first: string; second: string }> {
  const story = await aStory(seed, { licensesOwned: 1 })
  const { world, operator } = story
  const licenseOf = (id: string) => world.workers().find(each => each.id === id)?.license
  const first = (await operator.createAndRun('metal-1', { license: LICENSE })).id
  await world.untilTrue('a license', () => licenseOf(first)?.status === 'REGISTERED')
  const second = (await operator.createAndRun('metal-2', { license: LICENSE })).id
  await world.untilTrue('a refusal', () => licenseOf(second)?.status === 'FAILED')
  return { ...story, first, second }
}

describe('a worker without a free license', () => {
  it('reports it, is not retried automatically, and is terminated without a leak', async () => {
    const { world, operator, manual, first, second, done } = await tooFew(131)
    const { license } = await world.worker(second)
    expect(license).toMatchObject({ pending_operation: null, last_error: expect.stringContaining('OUT_OF_COMPLIANCE') })
    const registers = () => world.mutations.filter(({ act, worker }) => act === 'register' && worker === second).length
    expect(registers()).toBe(1)
    await world.runFor(HOUR_MS / 2)
    expect(registers()).toBe(1)
    expect(manual.seats()).toEqual([await manual.machineOf(first)])
    await operator.terminate(second)
    await world.until(second, 'TERMINATED')
    expect(await operator.leaks()).toEqual([])
    await done()
  })

  it('is licensed once another license is returned', async () => {
    const { world, operator, manual, first, second, done } = await tooFew(132)
    await operator.terminate(first)
    await world.until(first, 'TERMINATED')
    const isLicensed = () => world.workers().find(each => each.id === second)?.license.status === 'REGISTERED'
    await world.untilTrue('a license', isLicensed, 15 * MINUTE_MS)
    expect(manual.seats()).toEqual([await manual.machineOf(second)])
    await operator.terminate(second)
    await world.until(second, 'TERMINATED')
    expect(manual.seats()).toEqual([])
    await done()
  })
})
