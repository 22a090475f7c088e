/** Outcome of a reconcile. A thrown error counts as `retry`. All but `retry` reset the retry count. */
export type ReconciliationResult =
  | { readonly status: 'SUCCESS'; readonly message?: string }
  | { readonly status: 'REQUEUE'; readonly message: string; readonly afterMs: number }
  | { readonly status: 'RETRY'; readonly message: string; readonly error?: unknown }
  | { readonly status: 'SKIP'; readonly message: string; readonly isGone?: true }

export const success = (message?: string): ReconciliationResult =>
  message === undefined ? { status: 'SUCCESS' } : { status: 'SUCCESS', message }
/** Waiting is not failing: look again after `afterMs`, without backoff. */
export const requeue = (message: string, afterMs: number): ReconciliationResult => ({
  status: 'REQUEUE',
  message,
  afterMs,
})
/** Failed for now: look again after the backoff. */
export const retry = (message: string, error?: unknown): ReconciliationResult => ({ status: 'RETRY', message, error })
export const skip = (message: string): ReconciliationResult => ({ status: 'SKIP', message })
/** There is no such resource any more: a skip after which the loop forgets the key. */
export const gone = (message: string): ReconciliationResult => ({ status: 'SKIP', message, isGone: true })
