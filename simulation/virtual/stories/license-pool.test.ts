import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS } from '../world/durations.ts'
import { LICENSE } from '../world/planted-secrets.ts'
import { aStory } from './story-fixture.ts'

const POOLED = { license: { product: LICENSE.product } }

/** Two workers of a pool with one seat: the first is licensed, the second waits. */
async function oneSeat(seed: number, options: Parameters<typeof aStory>[1] = {}) {
  const story = await aStory(seed, options)
  const { world, operator } = story
  const licenseOf = (id: string) => world.workers().find(each => each.id === id)?.license
  const isLicensed = (id: string) => () => licenseOf(id)?.status === 'REGISTERED'
  await operator.setSeats(1)
  const first = (await operator.createAndRun('metal-1', POOLED)).id
  await world.untilTrue('a license', isLicensed(first))
  const second = (await operator.createAndRun('metal-2', POOLED)).id
  return { ...story, first, second, licenseOf, isLicensed }
}

describe('workers of a license pool', () => {
  it('never hold more licenses than it has seats, and the next one gets a seat that is added', async () => {
    const { world, operator, manual, first, second, isLicensed, done } = await oneSeat(301)
    await world.runFor(HOUR_MS / 2)
    expect(manual.seats()).toEqual([await manual.machineOf(first)])
    expect((await world.worker(second)).conditions.map(({ type }) => type)).toContain('LicenseSeatMissing')
    await operator.setSeats(2)
    await world.untilTrue('a second license', isLicensed(second))
    expect(manual.seats()).toHaveLength(2)
    await done()
  })

  it('pass a seat on when one of them is terminated, only after its license is returned', async () => {
    const { world, operator, manual, first, second, isLicensed, done } = await oneSeat(302)
    await operator.terminate(first)
    await world.until(first, 'TERMINATED')
    await world.untilTrue('a license', isLicensed(second))
    expect(manual.seats()).toEqual([await manual.machineOf(second)])
    expect((await operator.seats()).map(({ worker_id }) => worker_id)).toEqual([second])
    await done()
  })

  it('pass a seat on when one of them stops while another waits', async () => {
    const { world, operator, manual, first, second, licenseOf, isLicensed, done } = await oneSeat(303)
    await operator.stop(first)
    await world.until(first, 'STOPPED')
    await world.untilTrue('a license', isLicensed(second))
    expect(licenseOf(first)).toMatchObject({ seat: 'wanted', status: 'UNREGISTERED' })
    expect(manual.seats()).toEqual([await manual.machineOf(second)])
    await done()
  })

  it('keep a leaked seat in use until the leak is resolved', async () => {
    const { world, operator, manual, first, second, licenseOf, isLicensed, done } = await oneSeat(304)
    await manual.terminate(await manual.machineOf(first))
    await world.until(first, 'TERMINATED', HOUR_MS)
    await world.runFor(10 * MINUTE_MS)
    expect(licenseOf(second)).toMatchObject({ seat: 'wanted' })
    const [leak] = await operator.leaks()
    await world.client.call('resolveLicenseLeak', { params: { id: leak?.id ?? '' }, body: {} })
    await world.untilTrue('a license', isLicensed(second))
    await done()
  })
})
