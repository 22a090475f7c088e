import { expect, it } from 'vitest'
import { sinceArgument } from './since-option.ts'

const NOW_MS = Date.UTC(2026, 0, 31, 12)

it.each([
  ['7d', '2026-01-24T12:00:00.000Z'],
  ['90m', '2026-01-31T10:30:00.000Z'],
  ['365d', '2025-01-31T12:00:00.000Z'],
  ['2026-01-02', '2026-01-02T00:00:00.000Z'],
  ['2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05.000Z'],
])('reads %s', (text, instant) => {
  expect(sinceArgument(text)(NOW_MS)).toBe(instant)
})

it.each(['', 'monday', '0d', '7', '401d', '2026-13-01'])('refuses %j', text => {
  expect(() => sinceArgument(text)).toThrow('such as 90m')
})
