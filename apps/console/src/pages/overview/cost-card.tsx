import type { AnswerOf } from '@lcm/contract/routes'
import { type Instant, toInstant } from '@lcm/domain/instant'
import { unknownPricesText, usdText } from '@lcm/domain/text/format-amounts'
import { useRead } from '../../parts/use-read.ts'
import { PastRatio } from './past-ratio.tsx'

const READ_EVERY_MS = 30_000

interface CostCardProps {
  readonly usdPerHour: number
  readonly unknownPrices: number
  readonly nowMs: number
}

export function CostCard({ usdPerHour, unknownPrices, nowMs }: CostCardProps) {
  const since = weekStart(nowMs)
  const { value, error } = useRead(
    since,
    (client, signal) => client.call('getFleetSummary', { query: { since }, signal }),
    { everyMs: READ_EVERY_MS },
  )
  return (
    <section class="card" aria-labelledby="money-title">
      <h2 id="money-title">Cost</h2>
      <dl class="money-figures">
        <Figure name="per hour, now" value={usdText(usdPerHour)} />
        <Figure name="spent, 7 days" value={value && usdText(value.cost.spent_usd)} mark="spent" />
        <Figure name="saved, 7 days" value={value && usdText(value.cost.saved_usd)} mark="saved" />
      </dl>
      {unknownPrices > 0 && <p class="muted">{unknownPricesText(unknownPrices)}</p>}
      <PastRatio since={since} />
      {value !== null && <WeekChart bars={dayBars(value.cost.by_day)} />}
      {value !== null && <p class="muted small-print">Days start at midnight UTC.</p>}
      {value === null && error === null && <div class="bone week-bone" />}
      {error !== null && <p class="muted">Could not load the costs of this week: {error}</p>}
    </section>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string | null
  /** Bars of the chart that this figure belongs to. */
  readonly mark?: 'spent' | 'saved'
}

const Figure = ({ name, value, mark }: FigureProps) => (
  <div>
    <dt class="muted">
      {mark !== undefined && <span class={`week-mark ${mark}`} aria-hidden="true" />}
      {name}
    </dt>
    <dd class="key-figure number">{value ?? '…'}</dd>
  </div>
)

const WeekChart = ({ bars }: { bars: readonly DayBar[] }) => (
  <>
    <p class="week-top number" aria-hidden="true">
      {usdText(highestUsd(bars))}
    </p>
    <ol class="week" aria-label="Spent and saved by day, in UTC">
      {bars.map(bar => (
        <li key={bar.day} class="week-day" title={`${bar.day}: ${barText(bar)}`}>
          <span class="sr-only">
            {bar.day}: {barText(bar)}
          </span>
          <span class="week-bars" aria-hidden="true">
            <span class="week-bar spent" style={{ height: `${bar.spentShare * 100}%` }} />
            <span class="week-bar saved" style={{ height: `${bar.savedShare * 100}%` }} />
          </span>
          <span class="muted week-name" aria-hidden="true">
            {bar.name}
          </span>
        </li>
      ))}
    </ol>
  </>
)

const barText = ({ spentUsd, savedUsd }: DayBar): string => `${usdText(spentUsd)} spent, ${usdText(savedUsd)} saved`

const DAY_MS = 86_400_000
const DAYS = 7

/** Start of seven UTC days, the last of which is today. */
export const weekStart = (nowMs: number): Instant =>
  toInstant(Math.floor(nowMs / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS)

type Spent = AnswerOf<'getFleetSummary'>['cost']['by_day'][number]

export interface DayBar {
  readonly day: string
  /** Weekday, such as `Mon`. */
  readonly name: string
  readonly spentUsd: number
  readonly savedUsd: number
  /** Share of the highest bar, between 0 and 1. */
  readonly spentShare: number
  readonly savedShare: number
}

const dayName = new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone: 'UTC' })

/** Value at the top of the chart. */
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
