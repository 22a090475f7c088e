import { toInstant } from '../instant.ts'
import { reason } from '../reason.ts'
import { SAVED_USD_MIN } from './empty-machines.ts'
import { PLAN_HORIZON_MS, type Plan, type UnplacedSession } from './plan.ts'
import { type Attempt, attempt, byStart, OTHER_ORDERS, tasksOf, unplacedBecause, type Way } from './plan-attempt.ts'
import type { PlanInput } from './plan-input.ts'
import { plannedMachine } from './plan-steps.ts'

/**
 * Decides which machine serves which session, and when each machine is woken, bought, stopped or terminated. The plan is the same for
 * the same input. It is a proposal: reality overrules it, and it is computed again.
 */
export function planFleet(input: PlanInput): Plan {
  const best = bestAttempt(input)
  const machines = best.fleet.machines
    .map(machine => plannedMachine(machine, input))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  return {
    at: toInstant(input.nowMs),
    until: toInstant(input.nowMs + PLAN_HORIZON_MS),
    machines,
    unplaced: [...withoutDefinition(input), ...unplacedBecause(input, best)],
    usd: Math.round(best.usd * 100) / 100,
  }
}

/**
 * Keeps the plan before as a whole unless another one is clearly better. Tries each template alone where machines are bought, and
 * other orders where sessions are left.
 */
function bestAttempt(input: PlanInput): Attempt {
  const tasks = tasksOf(input)
  const first: Way = { order: byStart, template: null, kept: input.previous === null ? 'near' : 'all' }
  let best = attempt(input, tasks, first)
  const tryTo = (way: Partial<Way>) => {
    const other = attempt(input, tasks, { ...first, ...way })
    if (isBetter(other, best)) best = other
  }
  if (input.previous !== null) tryTo({ kept: 'near' })
  const templates = input.templates.filter(({ enabled }) => enabled)
  if (best.purchases > 0 && templates.length > 1)
    for (const { name } of templates) tryTo({ template: name, kept: 'near' })
  for (const order of OTHER_ORDERS) {
    if (best.unplaced.length > 0) tryTo({ order, kept: 'near' })
    if (best.broken > 0) tryTo({ order, kept: 'none' })
  }
  return best
}

/** Fewer sessions without a machine, then clearly less cost. Less cost with fewer purchases is clear: a new machine also costs a disk. */
function isBetter(a: Attempt, b: Attempt): boolean {
  if (a.broken !== b.broken) return a.broken < b.broken
  if (a.unplaced.length !== b.unplaced.length) return a.unplaced.length < b.unplaced.length
  return a.cost < b.cost - (a.purchases < b.purchases ? 0 : SAVED_USD_MIN)
}

const withoutDefinition = ({ sessions, definitions }: PlanInput): UnplacedSession[] =>
  sessions
    .filter(({ status, desired_status, definition }) => {
      const isWaiting = status === 'PENDING' && desired_status === 'RUNNING'
      return isWaiting && !definitions.has(definition.id)
    })
    .map(({ id }) => ({ session_id: id, because: reason('definition_deleted') }))
