import { z } from 'zod'
import { documentFields } from '../document-fields.ts'
import { Fence } from '../fencing.ts'
import { type Instant, toMs } from '../instant.ts'
import type { Reason } from '../reason.ts'
import { Plan, type PlannedMachine, type PlannedStep } from './plan.ts'

export const PLAN_ID = 'fleet'

/** What a stored plan holds at most, so that it stays below the size of a request: a reason takes about 400 bytes. */
export const PLAN_LIMITS = { machines: 200, steps: 800, session_ids: 6_000, unplaced: 200 } as const

const count = (what: string) =>
  z
    .int()
    .nonnegative()
    .meta({ description: `${what} that were left out.`, example: 0 })

/** A plan that was cut to the limits, and what it lacks. */
export const BoundedPlan = Plan.extend({
  left_out: z
    .object({
      machines: count('Machines'),
      steps: count('Steps'),
      session_ids: count('Mentions of sessions'),
      unplaced: count('Sessions without a machine'),
    })
    .meta({ description: 'What a large plan lacks: the steps that come last are left out first.' }),
}).meta({ id: 'BoundedPlan', description: 'A plan in a size that can be stored.' })
export type BoundedPlan = z.infer<typeof BoundedPlan>

/** The one document of the plan. It is derived: a store without it only lacks what the next cycle writes. */
export const StoredPlan = BoundedPlan.extend({ ...documentFields(PLAN_ID), fence: Fence.default({}) })
export type StoredPlan = z.infer<typeof StoredPlan>

/** The next steps are kept, and the machines that have them. */
export function boundedPlan(plan: Plan): BoundedPlan {
  const left = { ...PLAN_LIMITS } as Record<keyof typeof PLAN_LIMITS, number>
  const take = <T>(what: keyof typeof PLAN_LIMITS, items: readonly T[]): T[] => {
    const kept = items.slice(0, Math.max(0, left[what]))
    left[what] -= items.length
    return kept
  }
  const isKept = new Set(
    take(
      'steps',
      plan.machines.flatMap(({ steps }) => steps).toSorted((a, b) => toMs(a.at) - toMs(b.at)),
    ),
  )
  const bySoonest = plan.machines.toSorted((a, b) => firstMs(a) - firstMs(b))
  const machines = take('machines', bySoonest).map((machine): PlannedMachine => {
    const steps = machine.steps.filter(step => isKept.has(step))
    const session_ids = take('session_ids', machine.session_ids)
    const late = Object.entries(machine.late_starts ?? {}).filter(([id]) => session_ids.includes(id))
    return {
      ...machine,
      session_ids,
      ...(late.length === 0 ? {} : { late_starts: Object.fromEntries(late) }),
      steps: steps.map(step => ({ ...step, session_ids: take('session_ids', step.session_ids) })),
    }
  })
  const unplaced = take('unplaced', plan.unplaced)
  const over = (what: keyof typeof PLAN_LIMITS) => Math.max(0, -left[what])
  const left_out = {
    machines: over('machines'),
    steps: over('steps'),
    session_ids: over('session_ids'),
    unplaced: over('unplaced'),
  }
  return { ...plan, machines, unplaced, left_out }
}

const firstMs = ({ steps }: PlannedMachine): number => Math.min(...steps.map(({ at }) => toMs(at)))

/** Whether two plans would be carried out alike. Money, and the time since which something should have been done, may differ. */
export const isSamePlan = (a: BoundedPlan, b: BoundedPlan): boolean => meaningOf(a) === meaningOf(b)

const meaningOf = ({ at, until, machines, unplaced, left_out }: BoundedPlan): string =>
  JSON.stringify([
    machines.map(({ key, worker_id, template_name, session_ids, steps }) => [
      ...[key, worker_id, template_name, session_ids],
      steps.map(step => [step.kind, momentOf(step, at), gist(step.because, until), step.session_ids]),
    ]),
    unplaced.map(({ session_id, because }) => [session_id, gist(because, until)]),
    left_out,
  ])

/** In minutes; a step that is due has no time. */
const momentOf = (step: PlannedStep, now: Instant): number => (step.at <= now ? 0 : Math.round(toMs(step.at) / 60_000))

/** Without numbers, the end of the plan, and the first use of a machine that is overdue, which change with every cycle. */
const gist = ({ code, params }: Reason, until: Instant): string =>
  code +
  JSON.stringify(params, (name, value) =>
    typeof value === 'number' || name === 'message' || name === 'first_use' || value === until ? undefined : value,
  )
