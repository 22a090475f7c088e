import { useRead } from '../../parts/use-read.ts'
import { usdText } from '../../state/error-text.ts'
import { type DayBar, dayBars, highestUsd, weekStart } from './cost-chart.ts'

const READ_EVERY_MS = 30_000

export function MoneyCard({ usdPerHour, nowMs }: { usdPerHour: number; nowMs: number }) {
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
      {value !== null && <WeekChart bars={dayBars(value.cost.by_day)} />}
      {value !== null && <p class="muted small-print">Days begin at midnight UTC.</p>}
      {value === null && error === null && <div class="bone week-bone" />}
      {error !== null && <p class="muted">This week could not be read: {error}</p>}
    </section>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string | null
  /** Which bars of the chart it belongs to. */
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
