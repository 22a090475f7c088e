import { expect, it } from 'vitest'
import { exactText, minuteText, spanText, timestampText, timeText, utcText, zoneText } from './time-format.ts'

const EVENING_MS = new Date(2026, 0, 2, 19, 4, 5).getTime()
const HOUR_MS = 3_600_000

it('formats every time the same way, with 24 hours', () => {
  expect(timestampText(EVENING_MS)).toBe('2 Jan 2026, 19:04:05')
  expect([timeText(EVENING_MS), minuteText(EVENING_MS)]).toEqual(['19:04:05', '19:04'])
})

it('shows the day of a slot once when both ends share it', () => {
  expect(spanText(EVENING_MS, EVENING_MS + HOUR_MS)).toMatch(/^2 Jan, 19:04\s*–\s*20:04$/u)
  expect(spanText(EVENING_MS, EVENING_MS + 6 * HOUR_MS)).toMatch(/^2 Jan, 19:04\s*–\s*3 Jan, 01:04$/u)
})

it('shows time zone and UTC in the tooltip', () => {
  const utc = new Date(EVENING_MS).toISOString().replace('.000Z', 'Z')
  expect(utcText(EVENING_MS)).toBe(utc)
  expect(exactText(EVENING_MS)).toBe(`2 Jan 2026, 19:04:05 (${zoneText(EVENING_MS)}), ${utc}`)
  expect(zoneText(EVENING_MS)).toContain(Intl.DateTimeFormat().resolvedOptions().timeZone)
})
