/** One format on every page: day, month name, 24 hours, in the browser's time zone, which the footer names. */
const LOCALE = 'en-GB'
const DAY = { day: 'numeric', month: 'short' } as const
const MINUTE = { hour: '2-digit', minute: '2-digit' } as const
const SECOND = { ...MINUTE, second: '2-digit' } as const

const second = new Intl.DateTimeFormat(LOCALE, SECOND)
const minute = new Intl.DateTimeFormat(LOCALE, MINUTE)
const day = new Intl.DateTimeFormat(LOCALE, { ...DAY, year: 'numeric' })
const moment = new Intl.DateTimeFormat(LOCALE, { ...DAY, year: 'numeric', ...SECOND })
const slot = new Intl.DateTimeFormat(LOCALE, { ...DAY, ...MINUTE })
const weekday = new Intl.DateTimeFormat(LOCALE, { weekday: 'short', day: 'numeric' })
const offset = new Intl.DateTimeFormat(LOCALE, { timeZoneName: 'shortOffset' })
const { timeZone } = offset.resolvedOptions()

/** `19:04:05`. */
export const timeText = (ms: number): string => second.format(ms)
/** `19:04`. */
export const minuteText = (ms: number): string => minute.format(ms)
/** `2 Jan 2026`. */
export const dayText = (ms: number): string => day.format(ms)
/** `2 Jan 2026, 19:04:05`. */
export const timestampText = (ms: number): string => moment.format(ms)
/** `2 Jan, 19:04`. */
export const dayAndMinuteText = (ms: number): string => slot.format(ms)
/** `2 Jan, 19:04 – 20:04`: the day is shown once when both ends share it. */
export const spanText = (fromMs: number, toMs: number): string => slot.formatRange(fromMs, toMs)
/** `Fri 2`. */
export const weekdayText = (ms: number): string => weekday.format(ms)

/** `Europe/Berlin, GMT+1`; the offset is the one at `ms`. */
export function zoneText(ms: number): string {
  const name = offset.formatToParts(ms).find(part => part.type === 'timeZoneName')?.value ?? ''
  return name === '' || timeZone === 'UTC' ? timeZone : `${timeZone}, ${name}`
}

/** The time in UTC, as in logs and API responses. */
export const utcText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** Tooltip of a time. */
export const exactText = (ms: number): string => `${timestampText(ms)} (${zoneText(ms)}), ${utcText(ms)}`
