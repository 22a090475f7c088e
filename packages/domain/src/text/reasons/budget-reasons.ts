import { countText, usdText, weekdayText } from '../format-amounts.ts'

type Period = 'day' | 'month'
const budgetText = (period: Period, date: string, limit: number): string =>
  `the budget of ${usdText(limit)} for the ${period} ${date}`
const settingText = (period: Period): string => `budget_usd_per_${period}`

interface UsedBudget {
  readonly period: Period
  /** The UTC day or month. */
  readonly date: string
  readonly limit: number
  readonly spent_usd: number
  /** What running machines cost until their sessions end, and disks until the period ends. */
  readonly committed_usd: number
}

const usedText = ({ spent_usd, committed_usd }: UsedBudget): string =>
  `${usdText(spent_usd)} is spent and ${usdText(committed_usd)} is committed to running machines and disks`

const SPENDING_REASONS = {
  budget_exceeded: (p: UsedBudget & { readonly needed_usd: number }) =>
    `${usdText(p.needed_usd)} more would exceed ${budgetText(p.period, p.date, p.limit)}: ${usedText(p)}, ` +
    `${usdText(Math.max(0, p.limit - p.spent_usd - p.committed_usd))} is left`,
  budget_short: (p: UsedBudget) => `most of ${budgetText(p.period, p.date, p.limit)} is used: ${usedText(p)}`,
  budget_used_up: (p: UsedBudget) => `${budgetText(p.period, p.date, p.limit)} is used up: ${usedText(p)}`,
  fix_budget: ({ period }: { period: Period }) =>
    `raise it with \`lcm set setting ${settingText(period)} AMOUNT\`, or start a worker yourself with \`lcm start worker\``,
}

interface ShortAhead {
  readonly at: string
  /** Workers that the sessions need at that time. */
  readonly needed: number
  readonly sessions: number
}

const shortAheadText = ({ at, needed }: ShortAhead): string => `${weekdayText(at)} needs ${countText(needed, 'worker')}`
const waitingText = ({ sessions }: ShortAhead): string =>
  `${countText(sessions, 'booked session')} would wait for capacity`

/** Limits that are too low for what is booked. */
const AHEAD_REASONS = {
  workers_short_ahead: (p: ShortAhead & { readonly limit: number }) =>
    `${shortAheadText(p)}, and max_workers_per_region is ${p.limit}: ${waitingText(p)}`,
  workers_lacking_ahead: (p: ShortAhead) =>
    `${shortAheadText(p)}, and scale-up is turned off (scale_up_enabled is false): ${waitingText(p)}`,
  budget_short_ahead: (p: { period: Period; date: string; limit: number; needed_usd: number }) =>
    `the sessions booked for the ${p.period} ${p.date} need ${usdText(p.needed_usd)} with all disks, and its budget is ${usdText(p.limit)}`,
  fix_max_workers: ({ workers }: { workers: number }) =>
    `raise it with \`lcm set setting max_workers_per_region ${workers}\`, or book other times`,
}

/** Reasons about money and about limits that are too low for what is booked. */
export const BUDGET_REASONS = { ...SPENDING_REASONS, ...AHEAD_REASONS }
