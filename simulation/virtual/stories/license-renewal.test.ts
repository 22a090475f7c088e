import { expect, it } from 'vitest'
import { MINUTE_MS } from '../world/durations.ts'
import { aStory } from './story-fixture.ts'

/** A worker with the given licenses registered in order, and the outcome. */
async function licensed(seed: number, license: { product: string; token: string }, status: 'FAILED' | 'REGISTERED') {
  const { world, operator } = await aStory(seed)
  const { id } = await operator.createAndRun('metal-1', { license })
  const now = () => world.workers()[0]?.license
  await world.untilTrue(status, () => now()?.status === status, 10 * MINUTE_MS)
  return { world, operator, id, now }
}

const BAD = { product: 'CML_Enterprise', token: 'invalid-token' }

it('a good token after a bad one is registered', async () => {
  const { world, operator, id, now } = await licensed(901, BAD, 'FAILED')
  await operator.license(id)
  await world.runFor(15 * MINUTE_MS)
  expect(now()).toMatchObject({ status: 'REGISTERED', last_error: null, unsettled: null })
})

it('a good token after a bad one and a deregistration is registered', async () => {
  const { world, operator, id, now } = await licensed(903, BAD, 'FAILED')
  await operator.unlicense(id)
  await world.runFor(5 * MINUTE_MS)
  await operator.license(id)
  await world.runFor(15 * MINUTE_MS)
  expect(now()?.status).toBe('REGISTERED')
})

it('another product is registered, not only recorded', async () => {
  const { world, operator, id, now } = await licensed(
    902,
    { product: 'CML_Personal', token: 'good-token' },
    'REGISTERED',
  )
  await operator.license(id)
  await world.runFor(15 * MINUTE_MS)
  expect(now()).toMatchObject({ product: 'CML_Enterprise', status: 'REGISTERED' })
  expect(world.mutations.filter(({ act }) => act === 'register')).toHaveLength(2)
})

it('a bad token for another product leaks nothing: the held license is returned first', async () => {
  const { world, operator, id, now } = await licensed(
    904,
    { product: 'CML_Personal', token: 'good-token' },
    'REGISTERED',
  )
  await operator.license(id, BAD)
  await world.untilTrue('FAILED', () => now()?.status === 'FAILED', 10 * MINUTE_MS)
  expect(world.cloud.cml.smartAccount()).toEqual([])
  await operator.license(id)
  await world.untilTrue('REGISTERED', () => now()?.status === 'REGISTERED', 10 * MINUTE_MS)
  await operator.terminate(id)
  await world.untilTrue('TERMINATED', () => world.workers()[0]?.status === 'TERMINATED', 60 * MINUTE_MS)
  expect(world.cloud.cml.smartAccount()).toEqual([])
})
