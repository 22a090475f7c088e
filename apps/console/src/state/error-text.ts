import { ApiError, UnreachableError } from '@lcm/client/api-error'

/** What went wrong, in a sentence that does not claim more than is known. */
export function failureText(error: unknown): string {
  if (error instanceof ApiError) return error.problem.detail
  if (error instanceof UnreachableError)
    return 'LCM did not answer, so this may or may not have been taken. What the page shows is what is known.'
  return error instanceof Error ? error.message : String(error)
}

/** Nothing is at stake where something was only to be read. */
export const readFailureText = (error: unknown): string =>
  error instanceof UnreachableError ? 'LCM does not answer' : failureText(error)
