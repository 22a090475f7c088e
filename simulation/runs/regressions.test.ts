import { describe, it } from 'vitest'
import type { Plan, RunSize } from '../acts/plan.ts'
import { at } from '../mutants/mutant.ts'
import { wholeRun } from './whole-run.ts'

const BRISK: RunSize = { workers: 4, hours: 1, pace: 'brisk' }

interface Regression extends Pick<Plan, 'seed' | 'acts'> {
  readonly name: string
  readonly size?: RunSize
}

/** Runs that once failed, each cut down to the acts that led there. Whatever fails next is added with a name. */
const REGRESSIONS: readonly Regression[] = [
  {
    // The rule took a machine that the cloud had forgotten for one that was long dead.
    name: 'a licensed worker at rest is killed by hand, just before somebody counts licences',
    seed: 5,
    acts: [at(3.9, 'create with a licence'), at(6, 'stop'), at(26.6, 'kill a machine')],
  },
]

describe('what once failed holds', () => {
  it.each(REGRESSIONS)('$name', { timeout: 60_000 }, async ({ seed, acts, size = BRISK }) => {
    await wholeRun({ seed, size, acts: [...acts].sort((a, b) => a.atMs - b.atMs) })
  })
})
