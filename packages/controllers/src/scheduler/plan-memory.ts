import type { Plan } from '@lcm/domain/plan/plan'
import { type BoundedPlan, isSamePlan } from '@lcm/domain/plan/stored-plan'
import type { Reason } from '@lcm/domain/reason'
import type { Schedule } from '@lcm/domain/session/scheduling'
import type { SchedulingInput } from '@lcm/domain/session/scheduling-types'

/** The plans of one term. */
export interface PlanMemory {
  /** The plan before this one. `read` gives that of an earlier leader to the first cycle. */
  planBefore(read: () => Promise<Plan | null>): Promise<Plan | null>
  /** The result of the last plan, if nothing changed since and it has nothing to do yet; null otherwise. */
  planFor(input: SchedulingInput): PlanResult | null
  planned(input: SchedulingInput, result: PlanResult & { readonly plan: Plan; readonly isSettled: boolean }): void
  /** Whether this term stored a plan that would be carried out alike. */
  isStored(plan: BoundedPlan): boolean
  stored(plan: BoundedPlan): void
}

type PlanResult = Pick<Schedule, 'later' | 'nextMs'> & { readonly reasons: ReadonlyMap<string, Reason> }

export function planMemory(): PlanMemory {
  let before: { readonly plan: Plan | null } | null = null
  let last: { readonly seen: string; readonly timings: unknown; readonly result: PlanResult } | null = null
  let kept: BoundedPlan | null = null
  return {
    async planBefore(read) {
      before ??= { plan: await read() }
      return before.plan
    },
    planFor(input) {
      if (last === null || input.nowMs >= last.result.nextMs || last.timings !== input.timings) return null
      return last.seen === versionsOf(input) ? last.result : null
    },
    planned(input, { plan, isSettled, reasons, later, nextMs }) {
      before = { plan }
      last = isSettled ? { seen: versionsOf(input), timings: input.timings, result: { reasons, later, nextMs } } : null
    },
    isStored: plan => kept !== null && isSamePlan(kept, plan),
    stored: plan => {
      kept = plan
    },
  }
}

/** All that a plan depends on but time and timings. */
const versionsOf = ({ sessions, workers, templates, settings, leaving, licenses }: SchedulingInput): string =>
  JSON.stringify([
    [sessions, workers, templates].map(all =>
      all.map(({ id, version }: { id: string; version: number }) => [id, version]),
    ),
    settings,
    [...leaving.keys()],
    [...(licenses ?? [])],
  ])
