import type { FleetCalendar } from '@lcm/domain/forecast/fleet-calendar'
import type { Forecast } from '@lcm/domain/forecast/forecast'
import { toMs } from '@lcm/domain/instant'
import { forecastRatioText, lateText, leastText, shortageText } from '@lcm/domain/text/forecast-text'
import { countText, usdText } from '@lcm/domain/text/format-amounts'
import { useMemo } from 'preact/hooks'
import { Chart } from '../../parts/chart.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { Headline } from '../../parts/list/list-page-header.tsx'
import { PageState } from '../../parts/shell/page-states.tsx'
import { useRead } from '../../parts/use-read.ts'
import { isAllowed } from '../../state/permission.ts'
import type { Query } from '../../state/router.ts'
import { dayAndMinuteText, weekdayText } from '../../state/time-format.ts'
import { loadSeries } from './forecast-charts.ts'
import { type Asked, askedOf, forecastHash } from './forecast-hash.ts'
import { MachineTimeline } from './machine-timeline.tsx'
import { useForecasts } from './use-forecasts.ts'
import { VariantsCard } from './variants-card.tsx'

const READ_EVERY_MS = 5 * 60_000
const RANGES = [1, 2, 7, 14, 31] as const

export function ForecastPage({ query }: { query: Query }) {
  const { state } = useConsole()
  return isAllowed(state.info.value, 'getCalendar') ? <Calendar query={query} /> : <NotAllowed />
}

const NotAllowed = () => (
  <PageState icon="lock" title="Not available for your role">
    <p>Only administrators and operators can see the forecast.</p>
  </PageState>
)

function Calendar({ query }: { query: Query }) {
  const asked = askedOf(query)
  const { value, error } = useRead(
    `calendar ${asked.days}`,
    (client, signal) => client.call('getCalendar', { query: { days: asked.days }, signal }),
    { everyMs: READ_EVERY_MS },
  )
  const forecasts = useForecasts(value, asked.days, asked.variants)
  const isCurrent = forecasts !== null && value !== null && forecasts.forecast.at === value.at
  return (
    <section class="page forecast" aria-busy={!isCurrent}>
      <Headline
        title="Forecast"
        summary={
          forecasts === null
            ? 'Computing the forecast…'
            : `${spanOf(forecasts.forecast)}, if nothing more is booked or canceled`
        }
      >
        <Ranges asked={asked} />
      </Headline>
      {error !== null && <p class="refusal tone-red">Could not load the calendar: {error}</p>}
      {forecasts === null && error === null && <Bones />}
      {forecasts !== null && value !== null && (
        <>
          <Shortages forecast={forecasts.forecast} settings={value.settings} />
          <Figures forecast={forecasts.forecast} />
          <LoadCharts forecast={forecasts.forecast} />
          <VariantsCard forecasts={forecasts} asked={asked} templates={value.templates} />
          <MachineTimeline forecast={forecasts.forecast} />
        </>
      )}
    </section>
  )
}

const spanOf = ({ at, until }: Forecast): string => `${dayAndMinuteText(toMs(at))} to ${dayAndMinuteText(toMs(until))}`

const Bones = () => (
  <div class="loading" aria-busy="true">
    <span class="bone row" />
    <span class="bone row" />
    <span class="bone row" />
  </div>
)

function Ranges({ asked }: { asked: Asked }) {
  const { router } = useConsole()
  return (
    <fieldset class="chips">
      <legend class="sr-only">Days</legend>
      {RANGES.map(days => (
        <button
          key={days}
          type="button"
          class="chip"
          aria-pressed={asked.days === days}
          onClick={() => router.replace(forecastHash({ ...asked, days }))}
        >
          {countText(days, 'day')}
        </button>
      ))}
    </fieldset>
  )
}

function Shortages({ forecast, settings }: { forecast: Forecast; settings: FleetCalendar['settings'] }) {
  if (forecast.shortages.length === 0) return null
  return (
    <section class="card tone-orange shortages" aria-labelledby="shortages-title">
      <h2 id="shortages-title">Shortages ahead</h2>
      <ul>
        {forecast.shortages.map(shortage => (
          <li key={`${shortage.fromMs} ${shortage.because.code}`}>
            <strong>{momentText(shortage.fromMs)}</strong> {shortageText(shortage, settings)}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Such as `Fri 2, 2 Jan, 09:00`. */
const momentText = (ms: number): string => `${weekdayText(ms).split(' ')[0]}, ${dayAndMinuteText(ms)}`

function Figures({ forecast }: { forecast: Forecast }) {
  const { sessions, sessions_peak, machines_peak, totals, late } = forecast
  const [least, ratio] = [leastText(forecast), forecastRatioText(forecast)]
  return (
    <div class="forecast-cards">
      <section class="card" aria-labelledby="booked-title">
        <h2 id="booked-title">Booked</h2>
        <p class="key-figure number">{countText(sessions, 'session')}</p>
        <p class="muted">
          {sessions_peak === null
            ? 'Nothing is booked in this time.'
            : `At most ${sessions_peak.sessions} at once, on ${momentText(sessions_peak.atMs)}.`}
        </p>
        <p>
          <span class="muted">Late: </span>
          <span class={late.length > 0 ? 'late-some tone-orange' : ''}>{lateText(forecast)}.</span>
        </p>
      </section>
      <section class="card" aria-labelledby="machines-title">
        <h2 id="machines-title">Machines</h2>
        <p class="key-figure number">{totals.hours.toFixed(1)} h</p>
        <p class="muted">
          {machines_peak === null ? (
            'No machine will run.'
          ) : (
            <>
              {countText(totals.machines, 'machine')}, at most {machines_peak.machines} at once, on{' '}
              {momentText(machines_peak.atMs)}; {countText(totals.boots, 'boot')}.
            </>
          )}
        </p>
      </section>
      <section class="card" aria-labelledby="cost-title">
        <h2 id="cost-title">Cost</h2>
        <p class="key-figure number">{usdText(totals.usd)}</p>
        <Causes forecast={forecast} />
        {least !== null && (
          <p class="muted">
            Least possible: {least}.{ratio !== null && ` This plan costs ${ratio}.`}
          </p>
        )}
      </section>
    </div>
  )
}

const CAUSE_TEXTS = { session: 'With sessions', boot: 'Booting', idle: 'Idle', disk: 'Disks' } as const
const CAUSES = ['session', 'boot', 'idle', 'disk'] as const

const Causes = ({ forecast: { totals } }: { forecast: Forecast }) => (
  <dl class="causes">
    {CAUSES.map(cause => (
      <div key={cause}>
        <dt>{CAUSE_TEXTS[cause]}</dt>
        <dd class="cause-bar" aria-hidden="true">
          <span style={{ width: `${totals.usd === 0 ? 0 : (100 * totals.by_cause[cause]) / totals.usd}%` }} />
        </dd>
        <dd class="number">{usdText(totals.by_cause[cause])}</dd>
      </div>
    ))}
  </dl>
)

const whole = (value: number): string => (Number.isInteger(value) ? String(value) : '')

function LoadCharts({ forecast }: { forecast: Forecast }) {
  const { atMs, machines, fewest, sessions } = useMemo(() => loadSeries(forecast), [forecast])
  const template = forecast.least?.template_names[0] ?? 'any template'
  const series = useMemo(
    () => ({
      machines: [
        { label: 'planned', tone: 'blue', values: machines },
        { label: `fewest possible on ${template}`, tone: 'gray', values: fewest },
      ] as const,
      sessions: [{ label: 'booked', tone: 'green', values: sessions }] as const,
    }),
    [machines, fewest, sessions, template],
  )
  const { machines_peak, sessions_peak } = forecast
  return (
    <section class="card forecast-charts" aria-label="Load over time">
      <Chart
        title="Machines"
        kind="steps"
        atMs={atMs}
        series={series.machines}
        text={whole}
        spoken={
          machines_peak === null ? 'None' : `At most ${machines_peak.machines}, on ${momentText(machines_peak.atMs)}`
        }
      />
      <Chart
        title="Sessions with a lab"
        kind="steps"
        atMs={atMs}
        series={series.sessions}
        text={whole}
        spoken={
          sessions_peak === null ? 'None' : `At most ${sessions_peak.sessions}, on ${momentText(sessions_peak.atMs)}`
        }
      />
    </section>
  )
}
