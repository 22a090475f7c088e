import type { Span } from '../calendar/span.ts'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { SettingValues } from './settings.ts'

export const BUDGET_PERIODS = ['day', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

export type BudgetLimits = Pick<SettingValues, 'budget_usd_per_day' | 'budget_usd_per_month'>

/** What was spent, evenly over a time. */
export interface Spent extends Span {
  readonly usd: number
}

/** What a machine or its disk will cost. */
export interface Commitment extends Span {
  readonly usdPerHour: number
}

/** The budget of one UTC day or month. */
export interface BudgetWindow extends Span {
  readonly period: BudgetPeriod
  readonly limitUsd: number
  readonly spentUsd: number
  /** What running machines cost until the known end of their use, and disks until the end of the period. */
  readonly committedUsd: number
  /** Negative if more is spent or committed than the budget allows. */
  readonly leftUsd: number
}

/** What the spending of promises is judged by. */
export interface SpendingFacts {
  readonly limits: BudgetLimits
  /** What the fleet has cost until `untilMs`. */
  readonly spent: readonly Spent[]
  readonly untilMs: number
  /** Disks of the workers, and machines that a person keeps running. */
  readonly committed: readonly Commitment[]
  /** The disk of a new machine of the template. */
  readonly diskUsdPerHour: (template: string) => number
  /** How long before its first use a machine of the template is started. */
  readonly wakeMs: (template: string) => number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Sums of decimals differ by less. */
const ROUNDING_USD = 1e-6
/** From this share on, people are warned. */
const WARN_SHARE = 0.8

export const hasBudget = (limits: BudgetLimits): boolean =>
  limits.budget_usd_per_day !== 'off' || limits.budget_usd_per_month !== 'off'

/** The start of the earliest period that a budget counts from. */
export const budgetStartMs = (limits: BudgetLimits, nowMs: number): number =>
  Math.min(nowMs, ...periodsWithin(limits, { fromMs: nowMs, untilMs: nowMs + 1 }).map(({ fromMs }) => fromMs))

/** The budgets and how much of them is left, in every day and month of the span, the earliest first. */
export function budgetLeft(
  limits: BudgetLimits,
  span: Span,
  { spent, committed }: { readonly spent: readonly Spent[]; readonly committed: readonly Commitment[] },
): BudgetWindow[] {
  return periodsWithin(limits, span).map(period => {
    const spentUsd = spent.reduce((sum, each) => sum + each.usd * shareWithin(each, period), 0)
    const committedUsd = committed.reduce((sum, each) => sum + usdWithin(each, period), 0)
    return { ...period, spentUsd, committedUsd, leftUsd: period.limitUsd - spentUsd - committedUsd }
  })
}

/** Why something more would exceed a budget; null if it would not. */
export function budgetRefusal(windows: readonly BudgetWindow[], added: readonly Commitment[]): Reason | null {
  for (const window of windows) {
    const needed = added.reduce((sum, each) => sum + usdWithin(each, window), 0)
    if (needed <= 0 || needed <= window.leftUsd + ROUNDING_USD) continue
    return reason('budget_exceeded', usedUp(window, needed))
  }
  return null
}

/** The params of a reason for something that would exceed the budget. */
export const usedUp = (window: BudgetWindow, neededUsd: number) => ({
  period: window.period,
  date: dateOf(window),
  limit: window.limitUsd,
  spent_usd: cents(window.spentUsd),
  committed_usd: cents(window.committedUsd),
  needed_usd: cents(neededUsd),
})

/** Whether most of the budget is spent or committed. */
export const isNearlyUsed = ({ limitUsd, spentUsd, committedUsd }: Omit<BudgetWindow, 'leftUsd'>): boolean =>
  spentUsd + committedUsd >= WARN_SHARE * limitUsd

/** A budget of which most is used; null while enough is left. */
export function budgetWarning(window: BudgetWindow): Reason | null {
  if (!isNearlyUsed(window)) return null
  const { limitUsd, leftUsd, spentUsd, committedUsd, period } = window
  const used = { spent_usd: cents(spentUsd), committed_usd: cents(committedUsd) }
  return reason(leftUsd <= 0 ? 'budget_used_up' : 'budget_short', {
    period,
    date: dateOf(window),
    limit: limitUsd,
    ...used,
  })
}

/** The day or the month, such as `2026-01-02` or `2026-01`. */
const dateOf = ({ fromMs, period }: Pick<BudgetWindow, 'fromMs' | 'period'>): string =>
  toInstant(fromMs).slice(0, period === 'day' ? 10 : 7)

const cents = (usd: number): number => Math.round(usd * 100) / 100

type Period = Pick<BudgetWindow, 'period' | 'limitUsd' | 'fromMs' | 'untilMs'>

function periodsWithin({ budget_usd_per_day, budget_usd_per_month }: BudgetLimits, span: Span): Period[] {
  return [
    ...(budget_usd_per_day === 'off' ? [] : periods(span, 'day', budget_usd_per_day)),
    ...(budget_usd_per_month === 'off' ? [] : periods(span, 'month', budget_usd_per_month)),
  ].toSorted((a, b) => a.fromMs - b.fromMs)
}

function periods({ fromMs, untilMs }: Span, period: BudgetPeriod, limitUsd: number): Period[] {
  const found: Period[] = []
  for (let atMs = fromMs; atMs < untilMs; atMs = found.at(-1)?.untilMs ?? untilMs)
    found.push({ period, limitUsd, ...(period === 'day' ? dayOf(atMs) : monthOf(atMs)) })
  return found
}

function dayOf(ms: number): Span {
  const fromMs = Math.floor(ms / DAY_MS) * DAY_MS
  return { fromMs, untilMs: fromMs + DAY_MS }
}

function monthOf(ms: number): Span {
  const [year = 0, month = 0] = toInstant(ms).split('-').map(Number)
  return {
    fromMs: monthStart(year, month),
    untilMs: month === 12 ? monthStart(year + 1, 1) : monthStart(year, month + 1),
  }
}
const monthStart = (year: number, month: number): number =>
  toMs(`${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-01T00:00:00.000Z`)

/** A moment without length belongs to the period that it is in. */
function shareWithin({ fromMs, untilMs }: Span, within: Span): number {
  if (untilMs <= fromMs) return fromMs >= within.fromMs && fromMs < within.untilMs ? 1 : 0
  return overlapMs({ fromMs, untilMs }, within) / (untilMs - fromMs)
}

const usdWithin = ({ usdPerHour, ...span }: Commitment, within: Span): number =>
  (usdPerHour * overlapMs(span, within)) / HOUR_MS

const overlapMs = (a: Span, b: Span): number =>
  Math.max(0, Math.min(a.untilMs, b.untilMs) - Math.max(a.fromMs, b.fromMs))
