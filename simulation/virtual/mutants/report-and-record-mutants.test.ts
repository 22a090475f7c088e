import { expect, it } from 'vitest'
import { hunt } from './hunt.ts'
import { ruleMutants } from './report-and-record-mutants.ts'

/** Mutants found only late in a run; `npm run sim -- --mutants` runs them. */
const SLOW = [
  'licensed without a license',
  'cooldown forgotten',
  'stops forgotten',
  'failed machine left running',
  'accepted stop forgotten',
  'two idle stops at once',
  'no fencing of labs',
]

it.each(ruleMutants.filter(({ name }) => !SLOW.includes(name)))('finds the mutant: $name', async mutant => {
  const { failure } = await hunt(mutant, () => false)
  expect(failure?.rule).toMatch(mutant.caughtBy)
})
