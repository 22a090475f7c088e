import { ApiError, UnreachableError } from '@lcm/client/client'
import { ProblemError } from '@lcm/contract/problems'
import { describe, expect, it } from 'vitest'
import { failureText, readFailureText } from './failure-text.ts'

describe('error texts', () => {
  it('quote the API, and say when the outcome is unknown', () => {
    const refused = new ApiError(new ProblemError('worker_protected', 'metal-1 is protected').toProblem('/'))
    expect(failureText(refused)).toBe('metal-1 is protected')
    expect(failureText(new UnreachableError('no answer'))).toContain('may or may not')
    expect(failureText('odd')).toBe('odd')
    expect(readFailureText(new UnreachableError('no answer'))).toBe('LCM is not responding')
    expect(readFailureText(refused)).toBe('metal-1 is protected')
  })
})
