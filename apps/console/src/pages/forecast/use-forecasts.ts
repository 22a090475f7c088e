import type { FleetCalendar } from '@lcm/domain/forecast/fleet-calendar'
import { type Forecast, forecastOf } from '@lcm/domain/forecast/forecast'
import { parseVariant, withVariant } from '@lcm/domain/forecast/variant'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { browserClock } from '../../state/browser-clock.ts'

/** A forecast with other settings, or why there is none. */
export type Compared = { readonly forecast: Forecast } | { readonly problem: string }

export interface Forecasts {
  /** As set now. */
  readonly forecast: Forecast
  /** By the text of the variant; those that are being computed are missing. */
  readonly compared: ReadonlyMap<string, Compared>
}

/** Computes one forecast after another, so that the page stays usable. The last ones stay until the new one is there. */
export function useForecasts(
  calendar: FleetCalendar | null,
  days: number,
  variants: readonly string[],
): Forecasts | null {
  const shown = useSignal<(Forecasts & { readonly calendar: FleetCalendar }) | null>(null)
  const wanted = variants.join(';')
  useEffect(() => {
    if (calendar === null) return
    const left = new AbortController()
    compute(
      calendar,
      days,
      { variants: wanted.split(';').filter(text => text !== ''), known: shown.peek() },
      forecasts => {
        if (left.signal.aborted) return false
        shown.value = { ...forecasts, calendar }
        return true
      },
    )
    return () => left.abort()
  }, [calendar, days, wanted, shown])
  return shown.value
}

interface Wanted {
  readonly variants: readonly string[]
  readonly known: (Forecasts & { readonly calendar: FleetCalendar }) | null
}

/** `show` returns whether to go on. */
async function compute(
  calendar: FleetCalendar,
  days: number,
  { variants, known }: Wanted,
  show: (forecasts: Forecasts) => boolean,
): Promise<void> {
  await browserClock.sleep(0)
  const isKnown = known?.calendar === calendar
  const forecast = isKnown ? known.forecast : forecastOf(calendar, days)
  const compared = new Map<string, Compared>(isKnown ? known.compared : [])
  if (!show({ forecast, compared: new Map(compared) })) return
  for (const text of variants) {
    if (compared.has(text)) continue
    await browserClock.sleep(0)
    compared.set(text, comparedBy(calendar, days, text))
    if (!show({ forecast, compared: new Map(compared) })) return
  }
}

function comparedBy(calendar: FleetCalendar, days: number, text: string): Compared {
  const parsed = parseVariant(
    text,
    calendar.templates.map(({ name }) => name),
  )
  return 'problem' in parsed ? parsed : { forecast: forecastOf(withVariant(calendar, parsed.variant), days) }
}
