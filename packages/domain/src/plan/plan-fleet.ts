import { toInstant } from '../instant.ts'
import { reason } from '../reason.ts'
import { PLAN_HORIZON_MS, type Plan, type UnplacedSession } from './plan.ts'
import { type Attempt, attempt, byStart, OTHER_ORDERS, tasksOf, unplacedBecause } from './plan-attempt.ts'
import type { PlanInput } from './plan-input.ts'
import { plannedMachine } from './plan-steps.ts'

/**
 * Decides which machine serves which session, and when each machine is woken, bought, stopped or terminated. The plan is the same for
 * the same input. It is a proposal: reality overrules it, and it is computed again.
 */
export function planFleet(input: PlanInput): Plan {
  const best = bestAttempt(input)
  const machines = best.fleet.machines.map(machine => plannedMachine(machine, input))
  return {
    at: toInstant(input.nowMs),
    until: toInstant(input.nowMs + PLAN_HORIZON_MS),
    machines,
    unplaced: [...withoutDefinition(input), ...unplacedBecause(input, best)],
    usd: Math.round(best.usd * 100) / 100,
  }
}

/** Tries each template alone where machines are bought, and other orders where sessions are left. */
function bestAttempt(input: PlanInput): Attempt {
  const tasks = tasksOf(input)
  let best = attempt(input, tasks, { order: byStart, template: null })
  const tryTo = (how: Parameters<typeof attempt>[2]) => {
    const other = attempt(input, tasks, how)
    if (isBetter(other, best)) best = other
  }
  const templates = input.templates.filter(({ enabled }) => enabled)
  if (best.isBuying && templates.length > 1) for (const { name } of templates) tryTo({ order: byStart, template: name })
  if (best.unplaced.length > 0) for (const order of OTHER_ORDERS) tryTo({ order, template: null })
  return best
}

const isBetter = (a: Attempt, b: Attempt): boolean =>
  a.broken !== b.broken
    ? a.broken < b.broken
    : a.unplaced.length !== b.unplaced.length
      ? a.unplaced.length < b.unplaced.length
      : a.usd < b.usd

const withoutDefinition = ({ sessions, definitions }: PlanInput): UnplacedSession[] =>
  sessions
    .filter(({ status, desired_status, definition }) => {
      const isWaiting = status === 'PENDING' && desired_status === 'RUNNING'
      return isWaiting && !definitions.has(definition.id)
    })
    .map(({ id }) => ({ session_id: id, because: reason('definition_deleted') }))
