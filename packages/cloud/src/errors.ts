/**
 * What an error of the cloud means for the caller. Policy reads the class, never the message.
 * - throttled: wait, all together; nobody's fault
 * - capacity: this offering is out for now; another place or type may do
 * - quota: the account is at its limit; an operator must act
 * - not_found: the cloud does not know the thing, which proves nothing about a young one
 * - state: the machine is in a state that forbids the act; look again
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
  /** The cloud's own word, such as `InsufficientInstanceCapacity`. */
  readonly code: string
  /** The call that failed, such as `RunInstances`. */
  readonly action: string
  /** When it may be asked again, where that is known: nothing was sent. */
  readonly retryAfterMs: number | null
  /** What the cloud said of it, without action and code. */
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
export const isNotNow = (error: unknown): error is CloudError & { readonly retryAfterMs: number } =>
  error instanceof CloudError && error.retryAfterMs !== null

/** Leadership was lost between the decision and the act; nothing was sent. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError'
}
