import { ProblemError } from '@lcm/contract/problems'
import type { ApiResponse, Dispatch } from '@lcm/contract/wire'
import { problemResponse } from './dispatch.ts'
import { readiness } from './extra-routes.ts'

/** Answers for an API that is not there yet, and lets everybody through once it is. */
export interface NotReadyApi {
  readonly dispatch: Dispatch
  /** In a few words; may be said anew as often as it changes. */
  waitFor(what: string): void
  open(dispatch: Dispatch): void
}

/** Whoever comes back after so long may find it open. */
const COME_BACK_SECONDS = 2

export function notReadyApi(): NotReadyApi {
  let what = 'its start'
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

/** The process lives, so that nobody should start it anew; but it has no work to give out. */
function answerOf(url: string, what: string): ApiResponse {
  const [path] = url.split('?')
  if (path === '/ready') return readiness(what)
  if (path !== '/health') {
    const advice = { retryAfterSeconds: COME_BACK_SECONDS }
    const refusal = new ProblemError('store_unavailable', `LCM waits for ${what}`, undefined, advice)
    return problemResponse(refusal, url)
  }
  const body = JSON.stringify({ status: 'degraded', problems: [`it waits for ${what}`] })
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}
