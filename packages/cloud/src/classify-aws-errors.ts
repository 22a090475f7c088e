import { CloudError, type CloudErrorClass } from './errors.ts'

/** A code that ends in `*` matches every code with that prefix. The first match wins. */
const CODES: ReadonlyArray<readonly [CloudErrorClass, readonly string[]]> = [
  [
    'throttled',
    [
      'RequestLimitExceeded',
      'Throttl*',
      'EC2ThrottledException',
      'RequestThrottled*',
      'TooManyRequests*',
      'SlowDown',
      'BandwidthLimitExceeded',
      'LimitExceededException',
      'PriorRequestNotComplete',
    ],
  ],
  [
    'capacity',
    [
      'InsufficientInstanceCapacity',
      'InsufficientHostCapacity',
      'InsufficientReservedInstanceCapacity',
      'InsufficientCapacity*',
      'InsufficientFreeAddressesInSubnet',
      'InsufficientVolumeCapacity',
      'UnfulfillableCapacity',
      'Unsupported',
      'SpotMaxPriceTooLow',
      'ReservationCapacityExceeded',
    ],
  ],
  [
    'quota',
    [
      'VcpuLimitExceeded',
      'InstanceLimitExceeded',
      'MaxSpotInstanceCountExceeded',
      'VolumeLimitExceeded',
      'MaxIOPSLimitExceeded',
      'TagLimitExceeded',
    ],
  ],
  ['attempt_spent', ['IdempotentInstanceTerminated']],
  ['attempt_mismatch', ['IdempotentParameterMismatch']],
  ['not_found', ['InvalidInstanceID.NotFound']],
  ['state', ['IncorrectInstanceState', 'IncorrectState']],
  ['protected', ['OperationNotPermitted']],
  [
    'auth',
    [
      'UnauthorizedOperation',
      'AuthFailure',
      'AccessDenied*',
      'ExpiredToken*',
      'InvalidClientTokenId*',
      'InvalidIdentityToken*',
      'IDPRejectedClaim*',
      'InvalidAccessKeyId',
      'InvalidToken',
      'InvalidSignature*',
      'SignatureDoesNotMatch',
      'RequestExpired',
      'RequestTimeTooSkewed',
      'OptInRequired',
      'Blocked',
      'PendingVerification',
      'CredentialsProviderError',
      'UnrecognizedClientException',
      'NotAuthorized*',
      'IncompleteSignature*',
      'MissingAuthenticationToken*',
    ],
  ],
  [
    'invalid',
    [
      'FilterLimitExceeded',
      'Invalid*',
      'Validation*',
      'MissingParameter',
      'MissingRequiredParameter*',
      'UnknownParameter',
      'UnsupportedOperation',
      'UnsupportedHibernation*',
    ],
  ],
]

const TOO_MANY_REQUESTS = 429

/**
 * Class of an AWS error. The code takes precedence over the status because capacity errors come as 500. Codes ending in
 * `LimitExceeded` are too many to list. A bare `NotFound` or `Unknown` is the SDK's code for an unreadable body, so it
 * stays transient whatever its status.
 */
export function classifyAwsCode(code: string, status: number | null): CloudErrorClass {
  const known = CODES.find(([, patterns]) => patterns.some(pattern => fits(code, pattern)))
  if (known !== undefined) return known[0]
  if (status === TOO_MANY_REQUESTS) return 'throttled'
  return code.endsWith('LimitExceeded') && status !== null && status < 500 ? 'quota' : 'transient'
}

const fits = (code: string, pattern: string) =>
  pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern

/**
 * EC2 may respond to a used client token with its terminated machine instead of an error; both mean that the attempt is
 * spent.
 */
export const attemptSpent = ({ instance_id, state }: { instance_id: string; state: string }): CloudError =>
  new CloudError('attempt_spent', {
    code: 'IdempotentInstanceTerminated',
    action: 'RunInstances',
    message: `the client token belongs to ${instance_id}, which is ${state}`,
  })
