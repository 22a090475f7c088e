import { ApiError, UnreachableError } from '@lcm/client/client'

/** Error as a sentence. A lost response leaves the outcome unknown, and the text says so. */
export function failureText(error: unknown): string {
  if (error instanceof ApiError) return error.problem.detail
  if (error instanceof UnreachableError)
    return 'LCM did not respond, so the request may or may not have been accepted. Check the current state on this page.'
  return error instanceof Error ? error.message : String(error)
}

/** For reads, where a lost response changes nothing. */
export const readFailureText = (error: unknown): string =>
  error instanceof UnreachableError ? 'LCM is not responding' : failureText(error)
