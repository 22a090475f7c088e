import type { Problem } from '@lcm/contract/problems'

/** The API refused. `problem.code` says why in one word, `message` in a sentence. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** No answer, a late one, or one that is not LCM's. The request may or may not have had its effect. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

export const isProblem = (error: unknown, ...codes: readonly string[]): error is ApiError =>
  error instanceof ApiError && codes.includes(error.problem.code)

/** Null when there is no such thing. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}
