import type { FleetCalendar } from '@lcm/domain/forecast/fleet-calendar'
import type { Forecast } from '@lcm/domain/forecast/forecast'
import type { LoadPoint } from '@lcm/domain/forecast/forecast-totals'
import { toInstant } from '@lcm/domain/instant'
import { forecastRatioText, lateText, leastText, shortageText } from '@lcm/domain/text/forecast-text'
import { countText, momentText, usdText } from '@lcm/domain/text/format-amounts'
import type { Colors } from '../terminal/output.ts'
import { GAP, printable } from '../terminal/table.ts'

/** A forecast with other settings. */
export interface VariantForecast {
  /** As it was requested, such as `idle_timeout_seconds=300`. */
  readonly text: string
  readonly forecast: Forecast
}

interface Shown {
  readonly forecast: Forecast
  readonly compared: readonly VariantForecast[]
  readonly limits: FleetCalendar['settings']
}

type Row = readonly [name: string, text: string]

export function forecastLines({ forecast, compared, limits }: Shown, colors: Colors): string[] {
  const { at, until, late, shortages } = forecast
  const title = `From ${momentText(at)} to ${momentText(until)}, if nothing more is booked or canceled:`
  const rows: Row[] = [
    ['booked', bookedText(forecast)],
    ['machines', machinesText(forecast)],
    ['cost', costText(forecast)],
    ['late', late.length === 0 ? lateText(forecast) : colors.yellow(lateText(forecast))],
    ...leastRow(forecast),
    ...compared.map((variant): Row => [`with ${printable(variant.text)}`, variantText(variant, forecast)]),
  ]
  const warnings = shortages.map(shortage =>
    colors.yellow(`! ${weekdayText(shortage.fromMs)}: ${printable(shortageText(shortage, limits))}`),
  )
  return [title, '', ...aligned(rows), ...(warnings.length === 0 ? [] : ['', ...warnings])]
}

function aligned(rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `${name.padEnd(width)}${GAP}${text}`)
}

function bookedText({ sessions, sessions_peak }: Forecast): string {
  if (sessions_peak === null) return 'no sessions'
  return `${countText(sessions, 'session')}, at most ${atPeak(sessions_peak, 'sessions')}`
}

function machinesText({ totals, machines_peak }: Forecast): string {
  if (machines_peak === null) return 'none'
  const { machines, hours, boots } = totals
  const peak = atPeak(machines_peak, 'machines')
  return `${countText(machines, 'machine')}, at most ${peak}; ${hours.toFixed(1)} h, ${countText(boots, 'boot')}`
}

const atPeak = (peak: LoadPoint, value: 'sessions' | 'machines'): string =>
  `${peak[value]} at once on ${weekdayText(peak.atMs)}`

function costText({ totals: { usd, by_cause } }: Forecast): string {
  const causes = Object.entries(by_cause).filter(([, amount]) => amount >= 0.005)
  const parts = causes.map(([cause, amount]) => `${cause} ${usdText(amount)}`)
  return parts.length === 0 ? usdText(usd) : `${usdText(usd)}: ${parts.join(', ')}`
}

function leastRow(forecast: Forecast): Row[] {
  const [least, ratio] = [leastText(forecast), forecastRatioText(forecast)]
  return least === null ? [] : [['least possible', ratio === null ? least : `${least}; the plan costs ${ratio}`]]
}

function variantText({ forecast: { totals, late, unplaced } }: VariantForecast, before: Forecast): string {
  const difference = totals.usd - before.totals.usd
  const sign = difference < 0 ? '-' : '+'
  const worse = [
    ...(late.length > before.late.length ? [`${late.length} late`] : []),
    ...(unplaced.length > before.unplaced.length ? [`${unplaced.length} would wait`] : []),
  ]
  const cost = `${usdText(totals.usd)}${GAP}${sign}${usdText(Math.abs(difference))}`
  return worse.length === 0 ? cost : `${cost}${GAP}${worse.join(', ')}`
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const DAY_MS = 86_400_000

/** Such as `Wed 2026-01-07 14:00 UTC`. The first day of 1970 was a Thursday. */
const weekdayText = (ms: number): string =>
  `${WEEKDAYS[(Math.floor(ms / DAY_MS) + 4) % 7]} ${momentText(toInstant(ms))}`
