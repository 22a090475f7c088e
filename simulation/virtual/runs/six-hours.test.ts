import { expect, it } from 'vitest'
import { planOf, type RunSize } from '../acts/plan.ts'
import { wholeRun } from './whole-run.ts'

const SIX_HOURS: RunSize = { workers: 10, hours: 6, pace: 'long' }
/** A sample: `npm run prove -- six-hours` runs more seeds. */
const SEED = 2

it('six hours with ten workers settle and break no invariant', async () => {
  const { ends } = await wholeRun(planOf(SEED, SIX_HOURS))
  expect(Object.keys(ends)).toContain('ARCHIVED')
})
