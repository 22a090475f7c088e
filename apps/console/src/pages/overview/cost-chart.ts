import type { AnswerOf } from '@lcm/contract/routes'
import { type Instant, toInstant } from '@lcm/domain/instant'

const DAY_MS = 86_400_000
const DAYS = 7

/** Seven days in UTC, as the API counts them, with today as the last. */
export const weekStart = (nowMs: number): Instant =>
  toInstant(Math.floor(nowMs / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS)

type Spent = AnswerOf<'getFleetSummary'>['cost']['by_day'][number]

export interface DayBar {
  readonly day: string
  /** Such as `Mon`. */
  readonly name: string
  readonly spentUsd: number
  readonly savedUsd: number
  /** Of the highest bar, between 0 and 1. */
  readonly spentShare: number
  readonly savedShare: number
}

const dayName = new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone: 'UTC' })

/** What the top of the chart stands for. */
export const highestUsd = (bars: readonly DayBar[]): number =>
  Math.max(0, ...bars.flatMap(({ spentUsd, savedUsd }) => [spentUsd, savedUsd]))

export function dayBars(days: readonly Spent[]): DayBar[] {
  const highest = Math.max(0, ...days.flatMap(({ spent_usd, saved_usd }) => [spent_usd, saved_usd]))
  const shareOf = (usd: number) => (highest === 0 ? 0 : usd / highest)
  return days.map(({ day, spent_usd, saved_usd }) => ({
    day,
    name: dayName.format(new Date(day)),
    spentUsd: spent_usd,
    savedUsd: saved_usd,
    spentShare: shareOf(spent_usd),
    savedShare: shareOf(saved_usd),
  }))
}
