import type { SettingValues } from '../fleet/settings.ts'
import type { Forecast } from '../forecast/forecast.ts'
import type { Shortage } from '../forecast/shortages.ts'
import { timesText } from './economy-text.ts'
import { countText, durationText, usdText } from './format-amounts.ts'

/** The least possible of a forecast, such as `$1,079.00 to $1,128.00 on metal, without disks`; null without sessions. */
export function leastText({ least }: Forecast): string | null {
  if (least === null) return null
  const { bound, feasible } = least
  const templates = [...new Set(least.template_names)].join(' and ')
  const amounts = new Set([bound.usd, feasible.usd].map(usdText))
  return `${[...amounts].join(' to ')} on ${templates}, without disks`
}

/** The machines of a forecast against the bound, such as `1.43 times the least`; null without sessions. */
export function forecastRatioText({ totals, least }: Forecast): string | null {
  if (least === null || least.bound.usd === 0) return null
  return `${timesText((totals.usd - totals.by_cause.disk) / least.bound.usd)} the least`
}

/** Which sessions would start late. */
export function lateText({ late, after_boot }: Forecast): string {
  const slowest = Math.max(0, ...late.map(({ by_ms }) => by_ms))
  const expected =
    late.length === 0
      ? 'none'
      : `${countText(late.length, 'session')} by up to ${durationText(slowest)}, because no machine can boot in time`
  const risk = after_boot === 0 ? '' : `; ${countText(after_boot, 'session')} if a boot is slower than 999 of 1,000`
  return `${expected}${risk}`
}

type Limits = Pick<SettingValues, 'scale_up_enabled' | 'max_workers_per_region'>

/** How many sessions would wait, why, and what to do. */
export function shortageText({ session_ids, because, workers_needed }: Shortage, limits: Limits): string {
  return `${countText(session_ids.length, 'session')} would wait. ${fixText(because.message, workers_needed, limits)}`
}

function fixText(because: string, needed: number | null, { scale_up_enabled, max_workers_per_region }: Limits): string {
  if (needed === null)
    return `No enabled template has machines for them: ${because}. Enable or create a template that is large enough.`
  if (!scale_up_enabled) return `${needed} workers are needed, and scale_up_enabled is false. Set it to true.`
  if (needed > max_workers_per_region)
    return `${needed} workers are needed, and max_workers_per_region is ${max_workers_per_region}. Raise it to ${needed}.`
  return `Reason: ${because}.`
}
