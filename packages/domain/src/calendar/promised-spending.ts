import { STOP_MS } from '../economy/machine-model.ts'
import {
  type BudgetWindow,
  budgetLeft,
  type Commitment,
  hasBudget,
  type SpendingFacts,
  usedUp,
} from '../fleet/budget.ts'
import { reason } from '../reason.ts'
import type { CapacityProfile } from './capacity-profile.ts'
import { choiceNow, type PromisedMachine, putUse, removeUse, type Use, usedSpans } from './promised-machine.ts'
import type { Span } from './span.ts'

/** Sessions of the same needs on one machine, in addition to what is promised on it. */
export interface MoreUse extends Pick<Use, 'demand' | 'span'> {
  readonly machine: string
  readonly count: number
}

/** One more session on the machine. */
export const oneMore = ({ offer }: PromisedMachine, { demand, span }: Pick<Use, 'demand' | 'span'>): MoreUse => ({
  machine: offer.key,
  demand,
  span,
  count: 1,
})

/** A budget that something more would exceed. */
export interface Overspending {
  readonly window: BudgetWindow
  readonly neededUsd: number
}

/** Sums of decimals differ by less. */
const ROUNDING_USD = 1e-6

/** The budgets of every day and month of the span, less what the promises cost on the machines that prove them. */
export function promisedWindows(profile: CapacityProfile, span: Span): BudgetWindow[] {
  const { spending } = profile.capacity
  if (spending === null || !hasBudget(spending.limits)) return []
  const periods = budgetLeft(spending.limits, span, { spent: [], committed: [] })
  const fromMs = Math.max(spending.untilMs, Math.min(...periods.map(each => each.fromMs)))
  const untilMs = Math.max(...periods.map(each => each.untilMs))
  const committed = [...spending.committed]
  for (const machine of profile.machines.values())
    for (const each of costOf(machine, spending, { fromMs, untilMs })) committed.push(each)
  return budgetLeft(spending.limits, span, { spent: spending.spent, committed })
}

/** The first budget that more use of these machines would exceed; null if none. The profile stays as it is. */
export function overspending(profile: CapacityProfile, more: readonly MoreUse[]): Overspending | null {
  const { spending } = profile.capacity
  if (spending === null || !hasBudget(spending.limits) || more.length === 0) return null
  const used = more.flatMap(each => {
    const machine = profile.machines.get(each.machine)
    return machine === undefined ? [] : [{ machine, use: asOneUse(each) }]
  })
  const wakeMs = Math.max(0, ...used.map(({ machine }) => wakeOf(machine, spending)))
  const fromMs = Math.max(spending.untilMs, Math.min(...more.map(({ span }) => span.fromMs)) - wakeMs)
  const span = { fromMs, untilMs: Math.max(fromMs + 1, ...more.map(each => each.span.untilMs)) }
  const before = promisedWindows(profile, span)
  for (const { machine, use } of used) putUse(machine, use)
  const after = promisedWindows(profile, span)
  for (const { machine, use } of used) removeUse(machine, use)
  for (const [n, window] of after.entries()) {
    const left = before[n]
    if (left === undefined) continue
    const neededUsd = left.leftUsd - window.leftUsd
    if (neededUsd > ROUNDING_USD && window.leftUsd < -ROUNDING_USD) return { window: left, neededUsd }
  }
  return null
}

function asOneUse({ demand, span, count }: MoreUse): Use {
  const { cpu_cores, memory_gb, storage_gb, node_count } = demand.needs
  const needs = {
    cpu_cores: cpu_cores * count,
    memory_gb: memory_gb * count,
    storage_gb: storage_gb * count,
    node_count: node_count * count,
  }
  const all = { ...demand, needs, ports: demand.ports * count }
  return { id: 'more', demand: all, span, workerId: null, number: null, machine: null }
}

export const budgetBooked = ({ window, neededUsd }: Overspending) => reason('budget_booked', usedUp(window, neededUsd))

/** The times that the machine is awake for its promises, with the starts before, and its disk if it is bought for them. */
function* costOf(machine: PromisedMachine, spending: SpendingFacts, within: Span): Generator<Commitment> {
  const choice = choiceNow(machine)
  if (choice === null) return
  const { worker } = choice.capacity
  const awake = awakeSpans(machine, wakeOf(machine, spending))
  const [first] = awake
  if (first !== undefined && !machine.offer.isWorker) {
    const usdPerHour = spending.diskUsdPerHour(worker.template_name)
    yield { fromMs: Math.max(first.fromMs, within.fromMs), untilMs: within.untilMs, usdPerHour }
  }
  for (const { fromMs, untilMs } of awake)
    yield { fromMs: Math.max(fromMs, within.fromMs), untilMs, usdPerHour: worker.cost_per_hour_usd ?? 0 }
}

const wakeOf = (machine: PromisedMachine, { wakeMs }: SpendingFacts): number =>
  wakeMs(choiceNow(machine)?.capacity.worker.template_name ?? '')

/** A pause that is too short for a sleep is spent awake. */
function awakeSpans(machine: PromisedMachine, wakeMs: number): Span[] {
  const awake: Span[] = []
  for (const { fromMs, untilMs } of usedSpans(machine)) {
    const last = awake.at(-1)
    if (last !== undefined && fromMs - last.untilMs < wakeMs + STOP_MS)
      awake[awake.length - 1] = { ...last, untilMs: Math.max(last.untilMs, untilMs) }
    else awake.push({ fromMs: fromMs - wakeMs, untilMs })
  }
  return awake
}
