import { describe, expect, it } from 'vitest'
import { attemptSpent, classifyAwsCode } from './classify-aws-errors.ts'
import type { CloudErrorClass } from './errors.ts'

const EXAMPLES: ReadonlyArray<readonly [string, number | null, CloudErrorClass]> = [
  ['RequestLimitExceeded', 503, 'throttled'],
  ['ThrottlingException', 400, 'throttled'],
  ['RequestThrottledException', 400, 'throttled'],
  ['TooManyRequestsException', 429, 'throttled'],
  ['Unknown', 429, 'throttled'],
  ['InsufficientInstanceCapacity', 500, 'capacity'],
  ['InsufficientCapacityOnHost', 500, 'capacity'],
  ['Unsupported', 400, 'capacity'],
  ['VcpuLimitExceeded', 400, 'quota'],
  ['NetworkInterfaceLimitExceeded', 400, 'quota'],
  ['FilterLimitExceeded', 400, 'invalid'],
  ['SomeLimitExceeded', 500, 'transient'],
  ['IdempotentInstanceTerminated', 400, 'attempt_spent'],
  ['IdempotentParameterMismatch', 400, 'attempt_mismatch'],
  ['InvalidInstanceID.NotFound', 400, 'not_found'],
  ['IncorrectInstanceState', 400, 'state'],
  ['OperationNotPermitted', 400, 'protected'],
  ['InvalidClientTokenId', 403, 'auth'],
  ['AccessDeniedException', 403, 'auth'],
  ['CredentialsProviderError', null, 'auth'],
  ['InvalidInstanceID.Malformed', 400, 'invalid'],
  ['InvalidAMIID.NotFound', 400, 'invalid'],
  ['InvalidSubnetID.NotFound', 400, 'invalid'],
  ['InvalidParameterCombination', 400, 'invalid'],
  ['UnsupportedOperation', 400, 'invalid'],
  ['ValidationException', 400, 'invalid'],
  ['UnrecognizedClientException', 400, 'auth'],
  ['InvalidIdentityTokenException', 400, 'auth'],
  ['IDPRejectedClaimException', 403, 'auth'],
  ['InvalidSignatureException', 400, 'auth'],
  ['InvalidClientTokenIdException', 403, 'auth'],
  ['InvalidAccessKeyId', 403, 'auth'],
  ['InvalidToken', 400, 'auth'],
  ['RequestTimeTooSkewed', 403, 'auth'],
  ['InternalError', 500, 'transient'],
  ['TimeoutError', null, 'transient'],
  ['ECONNREFUSED', null, 'transient'],
]

describe('classes of AWS errors', () => {
  it.each(EXAMPLES)('maps %s with status %s to %s', (code, status, expected) => {
    expect(classifyAwsCode(code, status)).toBe(expected)
  })

  it('never takes an unreadable 404 for a missing machine', () => {
    expect(classifyAwsCode('NotFound', 404)).toBe('transient')
    expect(classifyAwsCode('Unknown', 403)).toBe('transient')
  })

  it('treats a dead machine in a successful response as a spent attempt', () => {
    expect(attemptSpent({ instance_id: 'i-1', state: 'shutting-down' })).toMatchObject({
      errorClass: 'attempt_spent',
      code: 'IdempotentInstanceTerminated',
    })
  })
})
