import type { Forecast } from '@lcm/domain/forecast/forecast'
import type { LoadPoint } from '@lcm/domain/forecast/forecast-totals'
import { toInstant } from '@lcm/domain/instant'
import type { VariantForecast } from './forecast-view.ts'

/** The forecast for programs: instants as in the API. */
export const forecastDocument = (forecast: Forecast, compared: readonly VariantForecast[]) => ({
  ...documentOf(forecast),
  variants: compared.map(({ text, forecast: other }) => ({
    with: text,
    difference_usd: other.totals.usd - forecast.totals.usd,
    ...documentOf(other),
  })),
})

const documentOf = ({ at, until, sessions, ...forecast }: Forecast) => ({
  at,
  until,
  booked: { sessions, ...peakOf('sessions', forecast.sessions_peak) },
  cost: { ...forecast.totals, ...peakOf('machines', forecast.machines_peak) },
  late: forecast.late,
  after_boot: forecast.after_boot,
  shortages: forecast.shortages.map(({ fromMs, untilMs, ...shortage }) => ({
    from: toInstant(fromMs),
    until: toInstant(untilMs),
    ...shortage,
  })),
  unplaced: forecast.unplaced,
  least: forecast.least,
  machines: forecast.machines.map(({ name, worker_id, template_name, sessions: held, awake, marks }) => ({
    name,
    worker_id,
    template_name,
    awake: awake.map(({ fromMs, servesMs, untilMs }) => ({
      from: toInstant(fromMs),
      serves_at: toInstant(servesMs),
      until: toInstant(untilMs),
    })),
    steps: marks.map(({ kind, atMs }) => ({ kind, at: toInstant(atMs) })),
    sessions: held.map(({ session_id, fromMs, untilMs }) => ({
      session_id,
      from: toInstant(fromMs),
      until: toInstant(untilMs),
    })),
  })),
})

const peakOf = (value: 'sessions' | 'machines', peak: LoadPoint | null) => ({
  peak: peak?.[value] ?? 0,
  peak_at: peak === null ? null : toInstant(peak.atMs),
})
