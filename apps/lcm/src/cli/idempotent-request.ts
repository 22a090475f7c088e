import { UnreachableError } from '@lcm/client/client'
import { tlsFailureIn } from '@lcm/client/tls-failure'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { CliError, EXIT } from './cli-error.ts'
import type { Shell } from './command-dependencies.ts'

/** Pauses between retries; an API that restarts is back within their sum. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000]
/** The API resumes a request 30 s after a crash; until then it reports the request as in progress. */
const MORE_PAUSES_MS = Array.from({ length: 8 }, () => 4_000)
/** Upper limit for `retry-after`, which states the longest time that the request may take. */
const RETRY_AFTER_MS_MAX = 4_000

/** Whether a request can't have had an effect, because no server accepted the connection. */
export function wasNeverSent(error: Error): boolean {
  if (tlsFailureIn(error) !== null) return true
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === 'ECONNREFUSED' || cause.code === 'ENOTFOUND')) return true
  }
  return false
}

/** Sends each POST with an idempotency key, so that a request whose response was lost can be repeated without a second effect. */
export function askedOnce(transport: Dispatch, { clock, newKey }: Pick<Shell, 'clock' | 'newKey'>): Dispatch {
  return async request => {
    if (request.method !== 'POST') return transport(request)
    const keyed = { ...request, headers: { 'idempotency-key': newKey(), ...request.headers } }
    const first = await attempt(transport, keyed)
    if (!isUndecided(first)) return settled(first)
    let last = first
    for (const [nth, pauseMs] of [...PAUSES_MS, ...MORE_PAUSES_MS].entries()) {
      if (nth >= PAUSES_MS.length && !isUnderWay(last)) break
      await clock.sleep(Math.max(pauseMs, retryAfterMs(last)), request.signal)
      last = await attempt(transport, keyed)
      if (last instanceof UnreachableError || isUndecided(last)) continue
      return settled(last)
    }
    if (isUnderWay(last) || isUnderWay(first)) throw unknownOutcome()
    // The outcome of the first request is unknown, whatever happened to the last one.
    throw first
  }
}

type Outcome = ApiResponse | UnreachableError

async function attempt(transport: Dispatch, request: ApiRequest): Promise<Outcome> {
  try {
    return await transport(request)
  } catch (error) {
    if (error instanceof UnreachableError) return error
    throw error
  }
}

/** Whether the request may have had an effect, or is still in progress. */
function isUndecided(outcome: Outcome): boolean {
  return outcome instanceof UnreachableError ? !wasNeverSent(outcome) : isUnderWay(outcome)
}

function isUnderWay(outcome: Outcome): boolean {
  if (outcome instanceof UnreachableError) return false
  return outcome.status === 409 && problemCodeIn(outcome) === 'idempotency_in_progress'
}

/** Null for a response that is not a problem of the API, such as one of a proxy. */
function problemCodeIn({ body }: ApiResponse): string | null {
  try {
    const problem: unknown = typeof body === 'string' ? JSON.parse(body) : null
    return typeof problem === 'object' && problem !== null && 'code' in problem ? String(problem.code) : null
  } catch {
    return null
  }
}

function retryAfterMs(outcome: Outcome): number {
  const seconds = outcome instanceof UnreachableError ? 0 : Number(outcome.headers['retry-after'] ?? 0)
  return Number.isFinite(seconds) ? Math.min(seconds * 1_000, RETRY_AFTER_MS_MAX) : 0
}

const unknownOutcome = (): CliError =>
  new CliError(
    EXIT.unreachable,
    'the outcome is unknown because the API did not respond',
    'check whether it was done before you repeat it',
  )

function settled(outcome: Outcome): ApiResponse {
  if (outcome instanceof UnreachableError) throw outcome
  return outcome
}
