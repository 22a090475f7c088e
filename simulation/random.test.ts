import { describe, expect, it } from 'vitest'
import { randomRun } from './random-run.ts'

/** Seeds that have shown something once stay here. */
const SEEDS = Array.from({ length: 16 }, (_, n) => n + 1)

describe('people, faults and crashes at random', () => {
  it.each(SEEDS)('come to rest and break nothing that must hold: seed %i', { timeout: 60_000 }, async seed => {
    await randomRun(seed)
  })

  it('are the same run for the same seed, and another for another', { timeout: 60_000 }, async () => {
    const first = await randomRun(41)
    expect(await randomRun(41)).toBe(first)
    expect(await randomRun(42)).not.toBe(first)
  })
})
