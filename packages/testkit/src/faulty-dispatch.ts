import { UnreachableError } from '@lcm/client/client'
import type { ProblemCode } from '@lcm/contract/problem-codes'
import { ProblemError } from '@lcm/contract/problems'
import { type ApiRequest, type ApiResponse, type Dispatch, EPOCH_HEADER, fromEtag } from '@lcm/contract/route-spec'
import type { RouteName } from '@lcm/contract/routes'
import { findRoute } from '@lcm/control-plane/http/parse-request'
import { problemResponse } from '@lcm/control-plane/http/response'

export interface Fault {
  /** Route that fails; every route without one. */
  readonly route?: RouteName
  /**
   * `unreachable`: the request never arrives. `lost_response`: it is executed, but its response never arrives. A problem code:
   * it is refused so and not executed.
   */
  readonly effect: 'unreachable' | 'lost_response' | ProblemCode
  /** Number of requests that fail; all until `heal` by default. */
  readonly times?: number
}

/** A request as it was sent. */
export interface RequestRecord {
  /** Null for a request that no route of the contract takes. */
  readonly route: RouteName | null
  /** Without its signal, which would keep whatever listens to it in memory. */
  readonly request: Omit<ApiRequest, 'signal'>
  /** Value of the first parameter in the path. */
  readonly id: string
  readonly query: URLSearchParams
  /** Empty for a request without one. */
  readonly body: Readonly<Record<string, unknown>>
  readonly epoch: number | null
  readonly ifMatch: number | null
  /** Status of its response; null while there is none, and when it never arrived. */
  readonly status: number | null
}

export type RequestListener = (record: RequestRecord) => unknown

export interface FaultyDispatch {
  readonly dispatch: Dispatch
  /** Requests so far, in order; tests may empty it. */
  readonly requests: RequestRecord[]
  /** Requests of one route so far, in order. */
  requestsOf(route: RouteName): readonly RequestRecord[]
  /** Makes requests fail until `heal`. */
  fail(fault: Fault): void
  heal(): void
  /** Runs before each request is executed: for concurrent changes, or to delay it. Replaces the previous listener. */
  beforeRequest(listener: RequestListener): void
}

/** The same API behind an unreliable network. */
export function faultyDispatch(inner: Dispatch): FaultyDispatch {
  const requests: RequestRecord[] = []
  let faults: { readonly fault: Fault; left: number }[] = []
  let listener: RequestListener = () => undefined

  function faultFor(route: string | null): Fault['effect'] | null {
    const found = faults.find(({ fault, left }) => left > 0 && (fault.route === undefined || fault.route === route))
    if (found === undefined) return null
    found.left -= 1
    return found.fault.effect
  }

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    request.signal.throwIfAborted()
    const record = recordOf(request)
    requests.push(record)
    await listener(record)
    request.signal.throwIfAborted()
    const effect = faultFor(record.route)
    if (effect === 'unreachable') throw new UnreachableError('connection refused')
    const isRefused = effect !== null && effect !== 'lost_response'
    const response = isRefused ? refusal(effect, request) : await inner(request)
    record.status = response.status
    if (effect === 'lost_response') throw new UnreachableError('connection reset')
    return response
  }

  return {
    dispatch,
    requests,
    requestsOf: route => requests.filter(each => each.route === route),
    fail(fault) {
      faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    },
    heal() {
      faults = []
    },
    beforeRequest(next) {
      listener = next
    },
  }
}

function recordOf({ signal: _, ...request }: ApiRequest): RequestRecord & { status: number | null } {
  const { method, url, headers, body } = request
  const [path = '', search = ''] = url.split('?')
  const epoch = headers[EPOCH_HEADER]
  const etag = headers['if-match']
  return {
    ...routed(method, path),
    request,
    // Parsed on demand: few tests read these.
    get query() {
      return new URLSearchParams(search)
    },
    get body() {
      return jsonIn(body)
    },
    epoch: epoch === undefined ? null : Number(epoch),
    ifMatch: etag === undefined ? null : fromEtag(etag),
    status: null,
  }
}

function routed(method: string, pathname: string): Pick<RequestRecord, 'route' | 'id'> {
  try {
    const found = findRoute(method, pathname)
    if (found === null) return { route: null, id: '' }
    return { route: found.name as RouteName, id: Object.values(found.params)[0] ?? '' }
  } catch (error) {
    if (error instanceof ProblemError) return { route: null, id: '' }
    throw error
  }
}

function jsonIn(body: string | null): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(body ?? '{}'))
  } catch {
    return {}
  }
}

const refusal = (code: ProblemCode, { url }: ApiRequest): ApiResponse =>
  problemResponse(new ProblemError(code, `the test refuses it: ${code}`), url)
