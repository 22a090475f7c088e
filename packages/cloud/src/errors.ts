/**
 * Meaning of a cloud error for the caller. Policy reads the class, never the message.
 * - throttled: all callers wait
 * - capacity: this offering is out for now; another zone or type may have capacity
 * - quota: the account is at its limit; an operator must act
 * - not_found: unknown to the cloud, which proves nothing about a young machine
 * - state: the machine is in a state that forbids the call; observe again
 * - protected: the machine refuses to be stopped or terminated
 * - attempt_spent: this client token's machine is dead; only a new attempt can launch
 * - attempt_mismatch: this client token was used with other parameters; find its machine
 * - auth: our credentials or permissions
 * - invalid: the request can never succeed as it is
 * - transient: anything else; the request may or may not have had its effect
 */
export const CLOUD_ERROR_CLASSES = [
  'throttled',
  'capacity',
  'quota',
  'not_found',
  'state',
  'protected',
  'attempt_spent',
  'attempt_mismatch',
  'auth',
  'invalid',
  'transient',
] as const
export type CloudErrorClass = (typeof CLOUD_ERROR_CLASSES)[number]

interface CloudErrorFacts {
  readonly code: string
  readonly action: string
  readonly message: string
  readonly cause?: unknown
  readonly retryAfterMs?: number
}

export class CloudError extends Error {
  override readonly name = 'CloudError'
  readonly errorClass: CloudErrorClass
  /** The cloud's own code, such as `InsufficientInstanceCapacity`. */
  readonly code: string
  /** The call that failed, such as `RunInstances`. */
  readonly action: string
  /** When a retry is allowed, where that is known: nothing was sent. */
  readonly retryAfterMs: number | null
  /** The cloud's message, without action and code. */
  readonly words: string

  constructor(errorClass: CloudErrorClass, about: CloudErrorFacts) {
    super(`${about.action}: ${about.code}: ${about.message}`, { cause: about.cause })
    this.errorClass = errorClass
    this.code = about.code
    this.action = about.action
    this.retryAfterMs = about.retryAfterMs ?? null
    this.words = about.message
  }
}

/** The rate limit did not allow the call yet. Nothing was sent. */
export const isRateLimited = (error: unknown): error is CloudError & { readonly retryAfterMs: number } =>
  error instanceof CloudError && error.retryAfterMs !== null

/** Leadership was lost between the decision and the call; nothing was sent. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError'
}
