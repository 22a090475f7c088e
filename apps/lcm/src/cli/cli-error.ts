import { ApiError, UnreachableError } from '@lcm/client/client'
import { SimRefusal } from '@lcm/client/sim-client'
import { CommanderError } from 'commander'

/** Exit codes of the process. Scripts rely on these numbers: never change one. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  notAllowed: 5,
  unreachable: 6,
  interrupted: 130,
} as const

/** An error of a command. `message` says what failed and why, `advice` what to do; `details` are printed below both. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number
  readonly advice: string | null
  readonly details: readonly string[]

  constructor(exitCode: number, message: string, advice: string | null = null, details: readonly string[] = []) {
    super(message)
    this.exitCode = exitCode
    this.advice = advice
    this.details = details
  }
}

const EXIT_BY_STATUS: Readonly<Record<number, number>> = {
  401: EXIT.notAllowed,
  403: EXIT.notAllowed,
  404: EXIT.notFound,
  409: EXIT.conflict,
  412: EXIT.conflict,
  421: EXIT.unreachable,
  502: EXIT.unreachable,
  503: EXIT.unreachable,
  504: EXIT.unreachable,
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof UnreachableError) return EXIT.unreachable
  if (error instanceof ApiError) return ofProblem(error.problem)
  if (error instanceof SimRefusal)
    return error.status === 400 ? EXIT.usage : (EXIT_BY_STATUS[error.status] ?? EXIT.failed)
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  return EXIT.failed
}

function ofProblem({ code, status }: ApiError['problem']): number {
  if (code === 'template_not_found' || code === 'definition_not_found') return EXIT.notFound
  // A 404 without a problem code comes from a proxy or another server, so the resource itself was never looked up.
  if (code === 'unknown' && status === 404) return EXIT.unreachable
  return EXIT_BY_STATUS[status] ?? EXIT.failed
}

/** Whether the same request is likely to succeed after a retry. */
export function isPassing(error: unknown): boolean {
  if (error instanceof UnreachableError) return true
  return error instanceof ApiError && (error.problem.status === 429 || error.problem.status >= 500)
}
