import { SETTING_DEFAULTS, type SettingsPatch } from '@lcm/domain/fleet/settings'
import { MINUTE_MS } from '../world/durations.ts'

/** News takes a moment, and a setting holds for whoever reads it next. */
export const UPDATE_MS = 2 * MINUTE_MS

type NumericSetting = 'min_workers' | 'idle_timeout_seconds' | 'scale_down_cooldown_seconds'

interface Period {
  readonly values: SettingsPatch
  readonly fromMs: number
  untilMs: number
}

/** What people said of the settings, and what may have held at any moment. */
export interface SettingsHistory {
  /** Tells what to do once it is known whether it was taken; of a server's failure nobody knows. */
  record(patch: SettingsPatch): (outcome: 'accepted' | 'refused' | 'unknown') => void
  /** The mildest that may have held then, or a moment before. */
  minimumAt(name: NumericSetting, atMs: number): number
}

export function settingsHistory(now: () => number): SettingsHistory {
  let periods: readonly Period[] = [{ values: {}, fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }]
  return {
    record(patch) {
      const before = periods.filter(({ untilMs }) => untilMs === Number.POSITIVE_INFINITY)
      const after = before.map(({ values }) => ({
        values: { ...values, ...patch },
        fromMs: now(),
        untilMs: Number.POSITIVE_INFINITY,
      }))
      // Before it is answered, since what it leads to may come sooner than the answer.
      periods = [...periods, ...after]
      return outcome => {
        if (outcome === 'refused') periods = periods.filter(each => !after.includes(each))
        if (outcome === 'accepted') for (const each of before) each.untilMs = Math.min(each.untilMs, now())
      }
    },
    minimumAt(name, atMs) {
      const possible = periods.filter(({ fromMs, untilMs }) => fromMs <= atMs && untilMs + UPDATE_MS >= atMs)
      return Math.min(...possible.map(({ values }) => values[name] ?? SETTING_DEFAULTS[name]))
    },
  }
}
