import { type Plan, planOf, type RunSize } from '../acts/plan.ts'
import { calmFailureOf } from '../calm-days/calm-run.ts'
import { failureOf } from '../runs/shrink.ts'
import type { RunOptions } from '../runs/whole-run.ts'
import type { SimulationFailure } from '../world/time-control.ts'
import type { Mutant } from './mutant.ts'

const SIZE: RunSize = { workers: 4, hours: 1.5, pace: 'brisk' }
/** Time after the last act in which its effects show. */
const AFTERWARDS_HOURS = 3

export interface Hunted {
  readonly mutant: string
  readonly seed: number
  /** Null if the mutant survived. */
  readonly failure: SimulationFailure | null
  /** Whether the expected rule found it. */
  readonly isAsExpected: boolean
}

/** The plan for a mutant and a seed. */
export function huntingPlan({ acts }: Mutant, seed: number): Plan {
  if (acts === undefined) return planOf(seed, SIZE)
  const hours = Math.max(...acts.map(({ atMs }) => atMs)) / 3_600_000 + AFTERWARDS_HOURS
  return { seed, size: { ...SIZE, hours }, acts: [...acts].sort((a, b) => a.atMs - b.atMs) }
}

const failureWith = (mutant: Mutant, seed: number, options: RunOptions = {}): Promise<SimulationFailure | null> =>
  mutant.calmDays === undefined
    ? failureOf(huntingPlan(mutant, seed), options)
    : calmFailureOf(seed, mutant.calmDays, options)

/** The failure of the same plan without the defect; there must be none. */
export const failureWithout = (mutant: Mutant, seed: number, options?: RunOptions): Promise<SimulationFailure | null> =>
  failureWith(mutant, seed, options)

/** Runs seed after seed with the defect until a violation is found or time is up. */
export async function hunt(mutant: Mutant, mayGoOn: () => boolean): Promise<Hunted> {
  for (let seed = 1; ; seed += 1) {
    const failure = await failureWith(mutant, seed, { defects: mutant.defects() })
    if (failure !== null || !mayGoOn()) {
      const isAsExpected = failure !== null && mutant.caughtBy.test(failure.rule)
      return { mutant: mutant.name, seed, failure, isAsExpected }
    }
  }
}
