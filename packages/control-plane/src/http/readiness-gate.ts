import { ProblemError } from '@lcm/contract/problems'
import type { ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { reason } from '@lcm/domain/reason'
import { readiness } from './extra-routes.ts'
import { problemResponse } from './response.ts'

/** Responds while the API is starting, and forwards all requests once it is open. */
export interface ReadinessGate {
  readonly dispatch: Dispatch
  /** Reason in a few words; may change often. */
  waitFor(what: string): void
  open(dispatch: Dispatch): void
}

/** Retry-After of refused requests. */
const RETRY_AFTER_SECONDS = 2

export function readinessGate(): ReadinessGate {
  let what = 'the start of LCM'
  let inner: Dispatch | null = null
  return {
    dispatch: request => inner?.(request) ?? Promise.resolve(answerOf(request.url, what)),
    waitFor(next) {
      what = next
    },
    open(dispatch) {
      inner = dispatch
    },
  }
}

/** The process is alive, so nothing should restart it, but it can't serve requests yet. */
function answerOf(url: string, what: string): ApiResponse {
  const [path] = url.split('?')
  if (path === '/ready') return readiness(what)
  if (path !== '/health') {
    const advice = { retryAfterSeconds: RETRY_AFTER_SECONDS }
    const refusal = new ProblemError('store_unavailable', `LCM waits for ${what}`, undefined, advice)
    return problemResponse(refusal, url)
  }
  const body = JSON.stringify({ status: 'degraded', problems: [reason('waiting_for', { dependency: what })] })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
