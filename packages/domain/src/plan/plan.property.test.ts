import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Plan, PlannedMachine } from './plan.ts'
import { planFleet } from './plan-fleet.ts'
import { faultsOf } from './testing/check-plan.ts'
import { anInput, at, booked, serving, sleeping } from './testing/plan-fixtures.ts'
import { type DrawnSession, playWorld } from './testing/planned-world.ts'

const aDraw: fc.Arbitrary<DrawnSession> = fc.record({
  bookedAt: fc.nat({ max: 300 }),
  notice: fc.oneof(fc.constant(0), fc.integer({ min: 20, max: 400 })),
  length: fc.integer({ min: 10, max: 180 }),
  stays: fc.integer({ min: 5, max: 300 }),
  canceledAfter: fc.option(fc.nat({ max: 400 }), { freq: 6 }),
  cpu: fc.integer({ min: 1, max: 10 }),
})
const someBoots = fc.array(fc.integer({ min: 3, max: 20 }), { minLength: 1, maxLength: 5 })

describe('the check of plans', () => {
  const input = anInput({
    workers: [sleeping('w-1')],
    sessions: [booked('s-1', 6, [60, 120]), booked('s-2', 4, [60, 120])],
  })
  const plan = planFleet(input)
  const [machine] = plan.machines
  const withMachine = (more: Partial<PlannedMachine>): Plan => ({
    ...plan,
    machines: machine === undefined ? [] : [{ ...machine, ...more }],
  })

  it('finds nothing wrong with a plan', () => {
    expect(machine?.session_ids).toEqual(['s-1', 's-2'])
    expect(faultsOf(input, plan)).toEqual([])
  })

  it('finds what is wrong with one', () => {
    const [wake, stop] = machine?.steps ?? []
    if (wake === undefined || stop === undefined) throw new Error('the plan has no steps')
    const large = { ...input, sessions: [booked('s-1', 7, [60, 120]), booked('s-2', 4, [60, 120])] }
    expect(faultsOf(large, plan)[0]).toContain('overfull')
    expect(faultsOf(input, withMachine({ session_ids: ['s-1'] }))).toEqual(['s-2 is not placed once'])
    expect(faultsOf(input, withMachine({ steps: [] }))[0]).toContain('is not started')
    expect(faultsOf(input, withMachine({ steps: [{ ...wake, at: at(36) }, stop] }))[0]).toContain('too late')
    expect(faultsOf(input, withMachine({ steps: [wake, { ...stop, at: at(50) }] }))[0]).toContain('is stopped before')
    expect(faultsOf(input, withMachine({ steps: [wake, wake, stop] }))[0]).toContain('wake')
    const bought = { ...anInput(), settings: { ...anInput().settings, max_workers_per_region: 0 } }
    expect(faultsOf(bought, withMachine({ worker_id: null, session_ids: [], steps: [] }))[0]).toContain(
      'beyond the limit',
    )
  })
})

describe('plans that are carried out', () => {
  it.each([
    ['with machines to buy', 100],
    ['with three machines at most', 3],
  ])('keep what they promise %s, from one to the next', (_, max_workers_per_region) => {
    let [starts, admitted, plans] = [0, 0, 0]
    fc.assert(
      fc.property(fc.array(aDraw, { minLength: 1, maxLength: 25 }), someBoots, (drawn, boots) => {
        const settings = { ...anInput().settings, max_workers_per_region }
        const played = playWorld(drawn, { settings, boots, workers: [serving('w-1'), sleeping('w-2')] })
        expect(played.faults).toEqual([])
        starts += played.starts
        admitted += played.admitted
        plans += played.plans
      }),
      { numRuns: 40, seed: 7 },
    )
    expect(Math.min(starts, admitted, plans)).toBeGreaterThan(100)
  })
})
