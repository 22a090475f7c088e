import { UnreachableError } from '@lcm/client/api-error'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import { CliError, EXIT } from './exit-code.ts'
import type { Shell } from './shell.ts'

/** Between one try and the next, in milliseconds: an API that restarts is there again by then. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000]
/** What was under way when an API crashed is taken up again when 30 s have passed; until then it says that it is under way. */
const MORE_PAUSES_MS = Array.from({ length: 8 }, () => 4_000)
/** What it says of when to ask again is the longest that it may take. */
const RETRY_AFTER_MS_MAX = 4_000

/** A request that had no effect, since nobody was there to take it. */
export function wasNeverSent(error: Error): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === 'ECONNREFUSED' || cause.code === 'ENOTFOUND')) return true
  }
  return false
}

/**
 * What a person asks for once happens once: each request that acts has a key, so that one whose answer was lost can be sent again
 * without being done again.
 */
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
    // Of the first nobody knows what became of it, whatever the last one met.
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

/** Whether it may have been done, or is being done. */
function isUndecided(outcome: Outcome): boolean {
  return outcome instanceof UnreachableError ? !wasNeverSent(outcome) : isUnderWay(outcome)
}

function isUnderWay(outcome: Outcome): boolean {
  if (outcome instanceof UnreachableError) return false
  return outcome.status === 409 && typeof outcome.body === 'string' && outcome.body.includes('idempotency_in_progress')
}

function retryAfterMs(outcome: Outcome): number {
  const seconds = outcome instanceof UnreachableError ? 0 : Number(outcome.headers['retry-after'] ?? 0)
  return Number.isFinite(seconds) ? Math.min(seconds * 1_000, RETRY_AFTER_MS_MAX) : 0
}

const unknownOutcome = (): CliError =>
  new CliError(
    EXIT.unreachable,
    'LCM does not say what became of it: it may have been done, so look before you repeat it',
  )

function settled(outcome: Outcome): ApiResponse {
  if (outcome instanceof UnreachableError) throw outcome
  return outcome
}
