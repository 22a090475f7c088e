import { UnreachableError } from '@lcm/client/api-error'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import type { RouteName } from '@lcm/contract/routes'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/wire'
import { findRoute } from '@lcm/control-plane/http/router'

export interface Fault {
  /** Route that fails; every route without one. */
  readonly route?: RouteName
  /**
   * `unreachable`: the request never arrives. `lost_response`: it is executed, but its response never arrives. `unavailable`: it
   * is refused with 503.
   */
  readonly effect: 'unreachable' | 'lost_response' | 'unavailable'
  /** Number of requests that fail; all until `heal` by default. */
  readonly times?: number
}

/** A request as the API received it, with the status of its response; null when it never arrived. */
export interface RequestRecord {
  readonly route: string | null
  readonly request: ApiRequest
  readonly status: number | null
}

export interface FaultyDispatch {
  readonly dispatch: Dispatch
  readonly requests: readonly RequestRecord[]
  fail(fault: Fault): void
  heal(): void
}

const ORIGIN = 'http://api.invalid'

/** The same API behind an unreliable network. */
export function faultyDispatch(inner: Dispatch): FaultyDispatch {
  const requests: RequestRecord[] = []
  let faults: { readonly fault: Fault; left: number }[] = []

  function faultFor(route: string | null): Fault['effect'] | null {
    const found = faults.find(({ fault, left }) => left > 0 && (fault.route === undefined || fault.route === route))
    if (found === undefined) return null
    found.left -= 1
    return found.fault.effect
  }

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    const route = routeOf(request)
    const effect = faultFor(route)
    if (effect === 'unreachable') {
      requests.push({ route, request, status: null })
      throw new UnreachableError('connection refused')
    }
    const response = effect === 'unavailable' ? unavailable(request) : await inner(request)
    requests.push({ route, request, status: response.status })
    if (effect === 'lost_response') throw new UnreachableError('connection reset')
    return response
  }

  return {
    dispatch,
    requests,
    fail(fault) {
      faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    },
    heal() {
      faults = []
    },
  }
}

/** Null for a request that no route of the contract takes. */
function routeOf({ method, url }: ApiRequest): string | null {
  if (!URL.canParse(url, ORIGIN)) return null
  try {
    return findRoute(method, new URL(url, ORIGIN).pathname).name
  } catch (error) {
    if (error instanceof ProblemError) return null
    throw error
  }
}

function unavailable({ url }: ApiRequest): ApiResponse {
  const problem = new ProblemError('store_unavailable', 'the test makes the store unavailable').toProblem(url)
  return {
    status: problem.status,
    headers: { 'content-type': PROBLEM_MEDIA_TYPE },
    body: JSON.stringify(problem),
  }
}
