import { toMs } from '../instant.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const twoDigits = (value: number) => String(value).padStart(2, '0')

/** The two largest units. A server's clock may run ahead of the browser's, so negative durations become zero. */
export function durationText(ms: number): string {
  const whole = Math.max(0, ms)
  const [days, hours] = [Math.floor(whole / DAY_MS), Math.floor((whole % DAY_MS) / HOUR_MS)]
  const [minutes, seconds] = [Math.floor((whole % HOUR_MS) / MINUTE_MS), Math.floor((whole % MINUTE_MS) / SECOND_MS)]
  if (days > 0) return `${days}d ${hours}h`
  if (hours > 0) return `${hours}h ${twoDigits(minutes)}m`
  if (minutes > 0) return `${minutes}m ${twoDigits(seconds)}s`
  return `${seconds}s`
}

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
export const usdText = (amount: number): string => dollars.format(amount)

/** A price per hour, such as `$3.96/h`. */
export const priceText = (usdPerHour: number | null): string =>
  usdPerHour === null ? 'unknown price' : `${usdText(usdPerHour)}/h`

/** Why a sum of costs is too low; null if it is complete. */
export const unknownPricesText = (count: number): string | null =>
  count === 0 ? null : `${countText(count, 'worker')} ${count === 1 ? 'has' : 'have'} no known price.`

/** A moment in a sentence, such as `2026-01-31 09:00 UTC`. What is no instant stays as it is. */
export const momentText = (at: string): string => at.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*Z$/, '$1 $2 UTC')

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** A moment with its weekday, such as `Wed 2026-01-28 12:00 UTC`. What is no instant stays as it is. */
export function weekdayText(at: string): string {
  const day = WEEKDAYS[(Math.floor(toMs(at) / DAY_MS) + 4) % 7]
  return day === undefined ? momentText(at) : `${day} ${momentText(at)}`
}

/** A day with its weekday, such as `Wed 2026-01-28`. */
export const dayText = (date: string): string => weekdayText(`${date}T00:00:00.000Z`).slice(0, 'Wed 2026-01-28'.length)

export const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Such as `r1, r2 and 3 more`. */
export const namesText = (names: readonly string[], max: number): string =>
  names.length <= max ? names.join(', ') : `${names.slice(0, max).join(', ')} and ${names.length - max} more`
