import { type Capacity, type CapacityProfile, emptyProfile, enter, isPossible } from '../calendar/capacity-profile.ts'
import { canTake, type PromisedMachine, type Use } from '../calendar/promised-machine.ts'
import { oneMore, overspending, promisedWindows } from '../calendar/promised-spending.ts'
import { overlaps } from '../calendar/span.ts'
import { toInstant } from '../instant.ts'
import { reason } from '../reason.ts'
import { BUDGET_PERIODS, type BudgetWindow, isNearlyUsed, usedUp } from './budget.ts'
import type { FleetWarning } from './fleet-warning.ts'

export const AHEAD_MS = 14 * 86_400_000

export interface CapacityAhead {
  /** A copy, which is changed: what is booked without a promise is entered after all promises. */
  readonly profile: CapacityProfile
  readonly bestEffort: readonly Use[]
  /** What there would be if the region could have as many workers as anybody needs. */
  readonly unlimited: Capacity
  /** Workers that the region has. */
  readonly present: number
  readonly nowMs: number
}

/**
 * Warnings about limits that are too low for what is booked, long before the day. Promises that have lost their capacity have a
 * warning of their own.
 */
export function* capacityWarnings(input: CapacityAhead): Generator<void, FleetWarning[]> {
  const { profile, nowMs } = input
  const ahead = { fromMs: nowMs, untilMs: nowMs + AHEAD_MS }
  const promised = promisedWindows(profile, ahead)
  const all = emptyProfile(input.unlimited)
  const waiting: Use[] = []
  const over: { readonly window: BudgetWindow; readonly neededUsd: number }[] = []
  for (const use of input.bestEffort.toSorted(byStart)) {
    yield
    if (!overlaps(use.span, ahead) || !isPossible(all, use.demand)) continue
    const machine = firstThatTakes(profile, use)
    const spending = machine === null ? null : overspending(profile, [oneMore(machine, use)])
    if (machine === null) waiting.push(use)
    else if (spending !== null) over.push(spending)
    else enter(profile, { ...use, number: BOOKED_LAST, machine: machine.offer.key })
  }
  const shortage = waiting.length === 0 ? null : yield* shortageWarning(waiting, all, input)
  // Another warning tells what is spent of the present period.
  const nearlyUsed = promised.filter(
    window => isNearlyUsed(window) && (window.fromMs > nowMs || !isNearlyUsed({ ...window, committedUsd: 0 })),
  )
  return [
    ...(shortage === null ? [] : [shortage]),
    ...BUDGET_PERIODS.flatMap(period => budgetWarning(period, nearlyUsed, over)),
  ]
}

const BOOKED_LAST = Number.MAX_SAFE_INTEGER
const byStart = (a: Use, b: Use): number => a.span.fromMs - b.span.fromMs || (a.id < b.id ? -1 : 1)

function firstThatTakes({ machines }: CapacityProfile, use: Use): PromisedMachine | null {
  for (const machine of machines.values()) if (canTake(machine, use)) return machine
  return null
}

/** The first time at which more workers are needed than there may be, and the most that are needed at any time. */
function* shortageWarning(
  waiting: readonly Use[],
  all: CapacityProfile,
  { profile, present }: CapacityAhead,
): Generator<void, FleetWarning | null> {
  for (const use of [...profile.uses.values(), ...waiting.map(use => ({ ...use, number: BOOKED_LAST }))]) {
    enter(all, { ...use, machine: null })
    yield
  }
  const bought = [...all.machines.values()].filter(({ offer, uses }) => !offer.isWorker && uses.size > 0)
  const neededAt = (atMs: number): number =>
    present + bought.filter(({ uses }) => [...uses.values()].some(({ span }) => isAt(span, atMs))).length
  // More workers don't help where licenses are short.
  const helped = waiting.filter(({ id }) => all.places.has(id))
  const [first] = helped
  if (first === undefined) return null
  const atMs = first.span.fromMs
  const { isScaleUpOn, workersMax: limit, region } = profile.capacity
  const short = {
    at: toInstant(atMs),
    needed: neededAt(atMs),
    sessions: helped.filter(({ span }) => isAt(span, atMs)).length,
  }
  const workers = Math.max(...helped.map(({ span }) => neededAt(span.fromMs)))
  return {
    id: `workers:${region}`,
    kind: 'capacity_ahead',
    is_critical: true,
    reason: isScaleUpOn ? reason('workers_short_ahead', { ...short, limit }) : reason('workers_lacking_ahead', short),
    fix: isScaleUpOn ? reason('fix_max_workers', { workers }) : reason('fix_scale_up_disabled'),
  }
}

const isAt = ({ fromMs, untilMs }: Use['span'], atMs: number): boolean => fromMs <= atMs && atMs < untilMs

/** The first day or month whose promises need most of its budget, or that lacks money for what is booked without a promise. */
function budgetWarning(
  period: BudgetWindow['period'],
  nearlyUsed: readonly BudgetWindow[],
  over: readonly { readonly window: BudgetWindow; readonly neededUsd: number }[],
): FleetWarning[] {
  const [lacking] = over.filter(({ window }) => window.period === period)
  const [used] = nearlyUsed.filter(window => window.period === period)
  const window = lacking?.window ?? used
  if (window === undefined) return []
  const { date, limit, committed_usd, spent_usd } = usedUp(window, 0)
  const needed_usd = committed_usd + spent_usd + (lacking?.neededUsd ?? 0)
  return [
    {
      id: `budget_ahead:${period}`,
      kind: 'capacity_ahead',
      is_critical: needed_usd > limit,
      reason: reason('budget_short_ahead', { period, date, limit, needed_usd: Math.round(needed_usd * 100) / 100 }),
      fix: reason('fix_budget', { period }),
    },
  ]
}
