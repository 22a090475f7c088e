const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
] as const

const PATTERN = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/
/** Longer timers would overflow. */
export const DURATION_MS_MAX = 24 * DAY_MS

/** Parses `90s`, `5m` or `1h30m`. Null if the text is not a duration, is zero or exceeds `msMax`. */
export function parseDuration(text: string, msMax = DURATION_MS_MAX): number | null {
  const parts = PATTERN.exec(text)
  if (parts === null) return null
  const ms = UNITS.reduce((sum, [, unitMs], index) => sum + Number(parts[index + 1] ?? 0) * unitMs, 0)
  return ms > 0 && ms <= msMax ? ms : null
}

/** Formats the two largest units: `12s`, `4m12s`, `3h4m`, `2d3h`. */
export function formatDuration(ms: number): string {
  const shown: string[] = []
  let rest = Math.max(0, ms)
  for (const [unit, unitMs] of UNITS) {
    const count = Math.floor(rest / unitMs)
    rest -= count * unitMs
    if (shown.length > 0 || count > 0) shown.push(count > 0 ? `${count}${unit}` : '')
    if (shown.length === 2) break
  }
  return shown.join('') || '0s'
}
