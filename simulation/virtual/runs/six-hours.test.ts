import { expect, it } from 'vitest'
import { planOf, type RunSize } from '../acts/plan.ts'
import { wholeRun } from './whole-run.ts'

const SIX_HOURS: RunSize = { workers: 10, hours: 6, pace: 'long' }
const SEEDS = Array.from({ length: 12 }, (_, n) => n + 1)

it.each(SEEDS)(
  'six hours with ten workers come to rest and break nothing: seed %i',
  { timeout: 120_000 },
  async seed => {
    const { ends } = await wholeRun(planOf(seed, SIX_HOURS))
    expect(Object.keys(ends)).toContain('ARCHIVED')
  },
)
