import { describe, expect, it } from 'vitest'
import { isNewReason, reasonOf } from './waiting-reason.ts'

describe('the reason for waiting', () => {
  it.each([
    [{ because: 'no room', forGood: false }, null, 'no room'],
    [{ because: 'a metal is asked for', forGood: false }, 'too many', 'a metal is asked for, and refused: too many'],
    [{ because: 'none is enabled', forGood: true }, null, 'unschedulable: none is enabled'],
  ])('of %o with the refusal %s is "%s"', (step, refusal, reason) => {
    expect(reasonOf(step, refusal)).toBe(reason)
  })

  it('is no longer than the API takes', () => {
    expect(reasonOf({ because: 'x'.repeat(2000), forGood: true }, null)).toHaveLength(1000)
  })

  it.each([
    [null, 'no room', true],
    ['no room', 'no room', false],
    ['waits for metal-1', 'waits for metal-2', true],
    ['the next may begin in 290 s', 'the next may begin in 12 s', false],
    ['8 GB are needed', '16 GB are needed', true],
  ])('after "%s" is "%s" new: %s', (known, reason, isNew) => {
    expect(isNewReason(known, reason)).toBe(isNew)
  })
})
