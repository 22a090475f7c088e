import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('parseDuration', () => {
  it.each([
    ['90s', 90_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    ['1d2h3m4s', 93_784_000],
  ])('reads %s', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', '90', '5 m', 'm', '-5m', '1.5h', '5m1h', '0s', '5M', '999999999d'])('refuses "%s"', text =>
    expect(parseDuration(text)).toBeNull(),
  )
})

describe('formatDuration', () => {
  it.each([
    [-1, '0s'],
    [999, '0s'],
    [12_000, '12s'],
    [60_000, '1m'],
    [252_900, '4m12s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [11_040_000, '3h4m'],
    [183_600_000, '2d3h'],
  ])('formats %i ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  it('parses what it formats', () => {
    for (const text of ['12s', '4m12s', '3h4m', '2d3h']) expect(formatDuration(parseDuration(text) ?? 0)).toBe(text)
  })
})
