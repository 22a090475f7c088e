import { describe, expect, it } from 'vitest'
import { planOf, type RunSize } from '../acts/plan.ts'
import { at } from '../mutants/mutant.ts'
import { MINUTE_MS } from '../world/durations.ts'
import { wholeRun } from './whole-run.ts'

const BRISK: RunSize = { workers: 3, hours: 0.5, pace: 'brisk' }
const LONG: RunSize = { workers: 10, hours: 6, pace: 'long' }

describe('random users, manual changes and faults', () => {
  it('settle and break no invariant', async () => {
    await wholeRun(planOf(1, BRISK))
  })

  it('break no invariant while two API processes write concurrently', async () => {
    const acts = [
      at(0, 'write concurrently', { amount: 1, forMinutes: 30 }),
      at(0.1, 'create'),
      at(0.2, 'create with a license'),
      ...Array.from({ length: 3 }, (_, n) => at(5 + 3 * n, 'book', { target: n / 3, amount: 0.1 * n })),
      at(12, 'stop', { target: 0.6 }),
      at(20, 'start', { target: 0.6 }),
    ]
    const { faults } = await wholeRun({ seed: 1, size: BRISK, acts })
    expect(faults).toBeGreaterThan(5)
  })

  it('give the same run for the same seed and a different one for another', async () => {
    const hashOf = async (seed: number) => (await wholeRun(planOf(seed, BRISK), { untilMs: 6 * MINUTE_MS })).hash
    const hash = await hashOf(41)
    expect(await hashOf(41)).toBe(hash)
    expect(await hashOf(42)).not.toBe(hash)
  })
})

describe('a plan', () => {
  it('is drawn from its seed only, sorted, and within its hours', () => {
    const plan = planOf(7, LONG)
    expect(planOf(7, LONG)).toEqual(plan)
    expect(planOf(8, LONG).acts).not.toEqual(plan.acts)
    const times = plan.acts.map(({ atMs }) => atMs)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(Math.max(...times)).toBeLessThan(6 * 3_600_000)
  })
})
