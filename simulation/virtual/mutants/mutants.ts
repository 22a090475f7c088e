import { apiMutants } from './api-mutants.ts'
import { brokenLabMutants } from './broken-lab-mutants.ts'
import { budgetMutants } from './budget-mutants.ts'
import { calendarMutants } from './calendar-mutants.ts'
import { licenseMutants } from './license-mutants.ts'
import type { Mutant } from './mutant.ts'
import { promiseMutants } from './promise-mutants.ts'
import { quotaMutants } from './quota-mutants.ts'
import { ruleMutants } from './report-and-record-mutants.ts'
import { sessionMutants } from './session-mutants.ts'
import { trustMutants } from './trust-mutants.ts'
import { cloudMutants } from './worker-controller-mutants.ts'

/** All mutants. A mutant that survives shows a missing invariant. */
export const MUTANTS: readonly Mutant[] = [
  ...cloudMutants,
  ...apiMutants,
  ...licenseMutants,
  ...calendarMutants,
  ...sessionMutants,
  ...ruleMutants,
  ...trustMutants,
  ...quotaMutants,
  ...budgetMutants,
  ...promiseMutants,
  ...brokenLabMutants,
]
