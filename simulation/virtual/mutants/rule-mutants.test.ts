import { expect, it } from 'vitest'
import { hunt } from './hunt.ts'
import { ruleMutants } from './rule-mutants.ts'

/** Mutants found only at the end of a long run; `npm run sim -- --mutants` runs them. */
const SLOW = ['licensed without a license', 'cooldown forgotten', 'failed machine left running']

it.each(ruleMutants.filter(({ name }) => !SLOW.includes(name)))('finds the mutant: $name', async mutant => {
  const { failure } = await hunt(mutant, () => false)
  expect(failure?.rule).toMatch(mutant.caughtBy)
})
