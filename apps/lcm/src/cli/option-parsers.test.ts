import { InvalidArgumentError } from 'commander'
import { expect, it } from 'vitest'
import { durationMs, wholeNumber } from './option-parsers.ts'

it('reads durations of options', () => {
  expect(durationMs('90s')).toBe(90_000)
  expect(() => durationMs('soon')).toThrow(InvalidArgumentError)
})

it.each(['1', '50'])('reads %s as a whole number from 1 to 50', text => {
  expect(wholeNumber(1, 50)(text)).toBe(Number(text))
})

it.each(['0', '51', '-1', '1.5', '1e1', '', 'one'])('refuses %j as a whole number from 1 to 50', text => {
  expect(() => wholeNumber(1, 50)(text)).toThrow('Give a whole number from 1 to 50.')
})
