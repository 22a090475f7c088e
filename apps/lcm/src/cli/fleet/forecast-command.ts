import { type FleetCalendar, FORECAST_DAYS_DEFAULT, FORECAST_DAYS_MAX } from '@lcm/domain/forecast/fleet-calendar'
import { forecastOf } from '@lcm/domain/forecast/forecast'
import { parseVariant, withVariant } from '@lcm/domain/forecast/variant'
import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli-error.ts'
import type { Shell } from '../command-dependencies.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { type Format, formatOption, wholeNumber } from '../option-parsers.ts'
import { printDocument } from '../terminal/print-document.ts'
import { forecastDocument } from './forecast-document.ts'
import { forecastLines, type VariantForecast } from './forecast-view.ts'

interface ForecastOptions {
  readonly days: number
  readonly with: readonly string[]
  readonly output: Format
}

export function defineForecast(forecast: Command, shell: Shell): void {
  forecast
    .addOption(
      new Option('--days <n>', 'How many days ahead')
        .argParser(wholeNumber(1, FORECAST_DAYS_MAX))
        .default(FORECAST_DAYS_DEFAULT),
    )
    .addOption(
      new Option(
        '--with <changes>',
        'Compare with other settings, such as idle_timeout_seconds=300,template=metal; repeatable',
      )
        .argParser((text: string, before: readonly string[]) => [...before, text])
        .default([], 'none'),
    )
    .addOption(formatOption().default('table'))
    .action(async (options: ForecastOptions, command: Command) => showForecast(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Plays the booked sessions forward with the planner of LCM and the measured boot and lab times: machines, cost, late sessions and
shortages. It assumes that nothing more is booked or canceled and that all sessions last until their end. With template=NAME, only
machines of that template are bought. Needs the role operator.

Examples:
  lcm forecast                                      the next 7 days
  lcm forecast --days 2 --with idle_timeout_seconds=300 --with template=nested12,min_workers=1
  lcm forecast -o json | jq .shortages`

async function showForecast(options: ForecastOptions, { shell, output, connect }: Invocation): Promise<void> {
  const { client } = await connect()
  const calendar = await client.call('getCalendar', { query: { days: options.days }, signal: shell.signal })
  const variants = options.with.map(text => ({ text, calendar: variantOf(text, calendar) }))
  const forecast = forecastOf(calendar, options.days)
  const compared = variants.map(
    (variant): VariantForecast => ({ text: variant.text, forecast: forecastOf(variant.calendar, options.days) }),
  )
  await printDocument(
    {
      data: forecastDocument(forecast, compared),
      names: () => forecast.machines.map(({ name }) => name),
      lines: colors => forecastLines({ forecast, compared, limits: calendar.settings }, colors),
    },
    options.output,
    output,
  )
}

function variantOf(text: string, calendar: FleetCalendar): FleetCalendar {
  const parsed = parseVariant(
    text,
    calendar.templates.map(({ name }) => name),
  )
  if ('problem' in parsed) throw new CliError(EXIT.usage, `can't use --with ${text}`, null, [parsed.problem])
  return withVariant(calendar, parsed.variant)
}
