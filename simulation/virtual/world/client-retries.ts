import { UnreachableError } from '@lcm/client/client'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'

const TRIES_MAX = 15
const PAUSE_MS = 2_000
const IN_PROGRESS_MS = 30_000

/** Repeats a request without a response, with the same idempotency key. */
export function withClientRetries(dispatch: Dispatch, clock: Clock): Dispatch {
  let requests = 0
  return async first => {
    requests += 1
    const request = first.method === 'POST' ? withKey(first, `asked-${requests}`) : first
    for (let tries = 1; ; tries += 1) {
      const response = await responseOrNull(dispatch, request, tries === TRIES_MAX)
      if (response !== null && !isInProgress(response)) return response
      if (response !== null && tries === TRIES_MAX) return response
      await clock.sleep(response === null ? PAUSE_MS * tries : IN_PROGRESS_MS, request.signal)
    }
  }
}

const withKey = (request: ApiRequest, key: string): ApiRequest => ({
  ...request,
  headers: { ...request.headers, 'idempotency-key': key },
})

/** Null when there was no response. */
async function responseOrNull(dispatch: Dispatch, request: ApiRequest, isLast: boolean): Promise<ApiResponse | null> {
  try {
    return await dispatch(request)
  } catch (error) {
    if (isLast || !(error instanceof UnreachableError)) throw error
    return null
  }
}

const isInProgress = ({ status, body }: ApiResponse): boolean =>
  status === 409 && typeof body === 'string' && body.includes('idempotency_in_progress')
