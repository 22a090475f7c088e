import { FORECAST_DAYS_DEFAULT, FORECAST_DAYS_MAX } from '@lcm/domain/forecast/fleet-calendar'
import { pageHash, type Query } from '../../state/router.ts'

/** What the address asks for. */
export interface Asked {
  readonly days: number
  /** Such as `idle_timeout_seconds=300`. */
  readonly variants: readonly string[]
}

export function askedOf({ days, with: variants = '' }: Query): Asked {
  const count = Number(days)
  return {
    days: Number.isInteger(count) && count >= 1 && count <= FORECAST_DAYS_MAX ? count : FORECAST_DAYS_DEFAULT,
    variants: [...new Set(variants.split(';').filter(text => text !== ''))],
  }
}

export const forecastHash = ({ days, variants }: Asked): string =>
  pageHash('forecast', { days: String(days), with: variants.join(';') })
