import {
  effectiveSettings,
  type GivenSettings,
  SETTING_DEFAULTS,
  type SettingName,
  type SettingsPatch,
  type SettingValues,
} from '@lcm/domain/fleet/settings'
import { MINUTE_MS } from '../world/durations.ts'

/** Time until all controllers have read a changed setting. */
export const UPDATE_MS = 2 * MINUTE_MS

type QuotaSetting = 'quota_user_live_sessions' | 'quota_user_future_sessions'
type NumericSetting = 'min_workers' | 'idle_timeout_seconds'

interface Period {
  readonly values: SettingsPatch
  readonly fromMs: number
  untilMs: number
}

/** The values that each setting may have had at any moment. */
export interface SettingsHistory {
  /** Returns a callback for the outcome of the request; after a server error it is unknown. */
  record(patch: SettingsPatch): (outcome: 'accepted' | 'refused' | 'unknown') => void
  /** The smallest value that may have been in effect then or shortly before. */
  minimumAt(name: NumericSetting, atMs: number): number
  /** All values that may have been in effect then or shortly before. */
  valuesAt<N extends SettingName>(name: N, atMs: number): readonly SettingValues[N][]
  /** The smallest value that may have been in effect since then. */
  smallestSince(name: 'saves_kept', fromMs: number): number
  /** The largest limit that may have been in effect since then. There is none until one is set. */
  largestLimitSince(name: QuotaSetting, fromMs: number): number
}

export function settingsHistory(now: () => number): SettingsHistory {
  let periods: readonly Period[] = [{ values: {}, fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }]
  function valuesAt<N extends SettingName>(name: N, atMs: number): SettingValues[N][] {
    const possible = periods.filter(({ fromMs, untilMs }) => fromMs <= atMs && untilMs + UPDATE_MS >= atMs)
    return possible.map(({ values }) => effectiveSettings(withoutNull(values), {})[name])
  }
  return {
    record(patch) {
      const before = periods.filter(({ untilMs }) => untilMs === Number.POSITIVE_INFINITY)
      const after = before.map(({ values }) => ({
        values: { ...values, ...patch },
        fromMs: now(),
        untilMs: Number.POSITIVE_INFINITY,
      }))
      // Recorded before the response, because effects may arrive first.
      periods = [...periods, ...after]
      return outcome => {
        if (outcome === 'refused') periods = periods.filter(each => !after.includes(each))
        if (outcome === 'accepted') for (const each of before) each.untilMs = Math.min(each.untilMs, now())
      }
    },
    minimumAt(name, atMs) {
      return Math.min(...valuesAt(name, atMs))
    },
    valuesAt,
    smallestSince(name, fromMs) {
      const possible = periods.filter(({ untilMs }) => untilMs >= fromMs)
      return Math.min(...possible.map(({ values }) => values[name] ?? SETTING_DEFAULTS[name]))
    },
    largestLimitSince(name, fromMs) {
      const limits = periods.filter(({ untilMs }) => untilMs >= fromMs).map(({ values }) => values[name])
      return Math.max(...limits.map(limit => (typeof limit === 'number' ? limit : Number.POSITIVE_INFINITY)))
    },
  }
}

/** Null resets a setting to its default. */
const withoutNull = (values: SettingsPatch): GivenSettings =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
