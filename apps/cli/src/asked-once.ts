import { UnreachableError } from '@lcm/client/api-error'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import type { Shell } from './shell.ts'

/** Between one try and the next, in milliseconds: an API that restarts is there again by then. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000]

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
    for (const pauseMs of PAUSES_MS) {
      await clock.sleep(pauseMs, request.signal)
      last = await attempt(transport, keyed)
      if (last instanceof UnreachableError || isUndecided(last)) continue
      return settled(last)
    }
    // Of the first nobody knows what became of it, whatever the last one met.
    return settled(last instanceof UnreachableError ? first : last)
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
  if (outcome instanceof UnreachableError) return !wasNeverSent(outcome)
  return outcome.status === 409 && typeof outcome.body === 'string' && outcome.body.includes('idempotency_in_progress')
}

function settled(outcome: Outcome): ApiResponse {
  if (outcome instanceof UnreachableError) throw outcome
  return outcome
}
