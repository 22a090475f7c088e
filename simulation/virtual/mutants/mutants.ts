import { apiMutants } from './api-mutants.ts'
import { cloudMutants } from './cloud-mutants.ts'
import type { Mutant } from './mutant.ts'
import { ruleMutants } from './rule-mutants.ts'
import { sessionMutants } from './session-mutants.ts'
import { trustMutants } from './trust-mutants.ts'

/** Every defect on purpose. One that survives shows a rule that is missing. */
export const MUTANTS: readonly Mutant[] = [
  ...cloudMutants,
  ...apiMutants,
  ...sessionMutants,
  ...ruleMutants,
  ...trustMutants,
]
