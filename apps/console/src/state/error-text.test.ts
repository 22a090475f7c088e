import { ApiError, UnreachableError } from '@lcm/client/api-error'
import { ProblemError } from '@lcm/contract/problems'
import { describe, expect, it } from 'vitest'
import { countText, durationText, failureText, readFailureText, usdText } from './error-text.ts'

describe('words', () => {
  it('say how long in two units', () => {
    const texts = [-5_000, 0, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000].map(durationText)
    expect(texts).toEqual(['0s', '0s', '59s', '1m 00s', '59m 59s', '1h 00m', '1d 1h'])
  })

  it('count and price', () => {
    expect([countText(1, 'worker'), countText(0, 'worker')]).toEqual(['1 worker', '0 workers'])
    expect(usdText(1234.5)).toBe('$1,234.50')
  })

  it('repeat what the API said, and admit what is not known', () => {
    const refused = new ApiError(new ProblemError('worker_protected', 'metal-1 is protected').toProblem('/'))
    expect(failureText(refused)).toBe('metal-1 is protected')
    expect(failureText(new UnreachableError('no answer'))).toContain('may or may not')
    expect(failureText('odd')).toBe('odd')
    expect(readFailureText(new UnreachableError('no answer'))).toBe('LCM does not answer')
    expect(readFailureText(refused)).toBe('metal-1 is protected')
  })
})
