import { manualClock } from '@lcm/testkit/manual-clock'
import { expect, it } from 'vitest'
import { plantMachines } from './conformance/compute-and-metrics-fixtures.ts'
import { positionFrom, regionIndex } from './machines-by-region.ts'
import { openSimModel } from './sim-model.ts'

it('keeps the machines of a region in order through insertions and removals', () => {
  const model = openSimModel({ seed: 7, clock: manualClock() })
  plantMachines(model, 20, {})
  const machines = model.machines().map(({ instance }) => instance)
  const index = regionIndex(machines.toReversed())
  const numbers = (region = 'us-east-1') => index.in(region).map(({ number }) => number)
  const ordered = machines.map(({ number }) => number)
  expect(numbers()).toEqual(ordered)
  expect(numbers('eu-west-1')).toEqual([])
  const [first, second] = machines
  if (!first || !second) throw new Error('there are machines')
  index.remove(first)
  index.put({ ...second, client_token: 'changed' })
  expect(numbers()).toEqual(ordered.slice(1))
  expect(index.in('us-east-1')[0]?.client_token).toBe('changed')
  index.put(first)
  expect(numbers()).toEqual(ordered)
  expect([-1, 0, 7, 19, 20].map(number => positionFrom(index.in('us-east-1'), number))).toEqual([0, 0, 7, 19, 20])
})
