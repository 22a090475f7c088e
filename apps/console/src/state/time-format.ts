/** One notation on every page: day, name of the month, 24 hours, by the browser's zone, which the foot of the page names. */
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

/** `19:04:05`, where the day goes without saying. */
export const timeText = (ms: number): string => second.format(ms)
/** `19:04`. */
export const minuteText = (ms: number): string => minute.format(ms)
/** `2 Jan 2026`. */
export const dayText = (ms: number): string => day.format(ms)
/** `2 Jan 2026, 19:04:05`. */
export const timestampText = (ms: number): string => moment.format(ms)
/** `2 Jan, 19:04`. */
export const dayAndMinuteText = (ms: number): string => slot.format(ms)
/** `2 Jan, 19:04 – 20:04`: the day is said once where both ends are on it. */
export const spanText = (fromMs: number, toMs: number): string => slot.formatRange(fromMs, toMs)
/** `Fri 2`. */
export const weekdayText = (ms: number): string => weekday.format(ms)

/** `Europe/Berlin, GMT+1`; the offset is that of the moment. */
export function zoneText(ms: number): string {
  const name = offset.formatToParts(ms).find(part => part.type === 'timeZoneName')?.value ?? ''
  return name === '' || timeZone === 'UTC' ? timeZone : `${timeZone}, ${name}`
}

/** The same moment in UTC, to compare with logs and what the API says. */
export const utcText = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** What is told when a time is pointed at. */
export const exactText = (ms: number): string => `${timestampText(ms)} (${zoneText(ms)}), ${utcText(ms)}`
