import { anAttempt, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { capacityRefusals } from './term-memory.ts'

const PAUSE_MS = 180_000
const at = (subnet_id: string) => anAttempt({ parameters: someLaunchParameters({ subnet_id }) })

it('an offer without capacity is skipped by all workers of its region for a while', () => {
  const offers = capacityRefusals(PAUSE_MS)
  offers.refused('us-east-1', at('subnet-a'), 1_000)
  offers.refused('us-east-1', at('subnet-b'), 2_000)
  expect([...offers.activeIn('us-east-1', 3_000)]).toEqual([
    ['m5zn.metal/subnet-a', 1_000 + PAUSE_MS],
    ['m5zn.metal/subnet-b', 2_000 + PAUSE_MS],
  ])
  expect(offers.activeIn('eu-west-1', 3_000).size).toBe(0)
  expect([...offers.activeIn('us-east-1', 1_000 + PAUSE_MS).keys()]).toEqual(['m5zn.metal/subnet-b'])
})

it('a retry within the pause does not prolong it, and a later one begins a new pause', () => {
  const offers = capacityRefusals(PAUSE_MS)
  offers.refused('us-east-1', at('subnet-a'), 0)
  offers.refused('us-east-1', at('subnet-a'), PAUSE_MS - 1)
  expect([...offers.activeIn('us-east-1', PAUSE_MS - 1).values()]).toEqual([PAUSE_MS])
  offers.refused('us-east-1', at('subnet-a'), PAUSE_MS)
  expect([...offers.activeIn('us-east-1', PAUSE_MS).values()]).toEqual([2 * PAUSE_MS])
})
