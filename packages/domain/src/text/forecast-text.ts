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
export function lateText({ late, after_boot }: Pick<Forecast, 'late' | 'after_boot'>): string {
  const slowest = Math.max(0, ...late.map(({ by_ms }) => by_ms))
  const expected =
    late.length === 0
      ? 'none'
      : `${countText(late.length, 'session')} by up to ${durationText(slowest)}, because no machine can boot in time`
  const risk = after_boot === 0 ? '' : `; ${countText(after_boot, 'session')} if a boot is slower than 999 of 1,000`
  return `${expected}${risk}`
}

type Limits = Pick<SettingValues, 'max_workers_per_region'>

/** How many sessions would wait, why, and what to do. */
export const shortageText = (shortage: Shortage, limits: Limits): string =>
  `${countText(shortage.session_ids.length, 'session')} would wait. ${fixText(shortage, limits)}`

function fixText({ because, workers_needed: needed }: Shortage, { max_workers_per_region: limit }: Limits): string {
  switch (because.code) {
    case 'region_worker_limit':
      return needed !== null && needed > limit
        ? `${needed} workers are needed, and max_workers_per_region is ${limit}. Raise it to ${needed}.`
        : `max_workers_per_region is ${limit}. Raise it.`
    case 'scale_up_disabled':
      return `${needed === null ? 'More' : needed} workers are needed, and scale_up_enabled is false. Set it to true, or create workers.`
    case 'plan_budget_reached':
      return 'The budget does not cover their machines. Raise budget_usd_per_day or budget_usd_per_month.'
    case 'plan_no_license_free':
      return `Reason: ${because.message}. Add licenses to the pool.`
    case 'plan_no_capacity':
      return 'No machine can be ready before they end. Start a worker now, or book a later time.'
    default:
      return `Reason: ${because.message}. Enable or create a template that holds them.`
  }
}
