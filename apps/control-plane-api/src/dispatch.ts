import { mayCall } from '@lcm/contract/access'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import { type ApiRequest, type ApiResponse, type Dispatch, EPOCH_HEADER, toEtag } from '@lcm/contract/wire'
import type { Actor, ServiceName } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import { StoreError } from '@lcm/store/store'
import type { AccessControl } from './access-control.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'
import { ifMatchOf, jsonOf, parse, queryOf } from './request-parts.ts'
import { findRoute } from './router.ts'

/** Only the path and the query of a request matter here. */
const ORIGIN = 'http://api.invalid'
/** Checks that this is the registered term of the service and answers the number that guards its writes. */
export type FenceOf = (service: ServiceName, epoch: number) => Promise<number>
/** What needs no route of the contract, such as the login page. Null passes the request on. */
export type Extra = (request: ApiRequest, url: URL) => Promise<ApiResponse | null>

/** The whole API as one function of a request. HTTP only wraps it, and the simulation calls it directly. */
export function dispatcher(parts: {
  handlers: Handlers
  access: AccessControl
  log: Logger
  extra: Extra
  fenceOf: FenceOf
}): Dispatch {
  const handlerOf = new Map<string, Handler>(Object.entries(parts.handlers))

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (!URL.canParse(request.url, ORIGIN)) throw new ProblemError('not_found', 'the address can not be read')
    const url = new URL(request.url, ORIGIN)
    const extra = await parts.extra(request, url)
    if (extra) return extra
    const { name, spec, params } = findRoute(request.method, url.pathname)
    const actor = await authorise(request, spec)
    const raw: RawRequest = {
      params,
      query: parse(spec.query, queryOf(url), 'query'),
      body: parse(spec.body, jsonOf(spec, request), 'body'),
      actor,
      ifMatch: ifMatchOf(spec, request),
      lastEventId: request.headers['last-event-id'] ?? null,
      fence: spec.fenced ? await fenceFor(actor, request) : null,
      signal: request.signal,
    }
    const handle = handlerOf.get(name)
    assert(handle, `${name} has no handler`)
    return success(spec, await handle(raw))
  }

  async function authorise(request: ApiRequest, spec: RouteSpec): Promise<Actor> {
    const actor = await parts.access.identify(request)
    if (!mayCall(actor, spec.access))
      throw new ProblemError('forbidden', `${actor.name} is ${actor.role}, which may not do this`)
    return actor
  }

  async function fenceFor(actor: Actor, request: ApiRequest): Promise<number> {
    const epoch = Number(request.headers[EPOCH_HEADER])
    if (actor.service !== null && Number.isSafeInteger(epoch) && epoch > 0) return parts.fenceOf(actor.service, epoch)
    throw new ProblemError('precondition_required', `say which term you write in, with ${EPOCH_HEADER}`)
  }

  return async request => {
    try {
      return await answer(request)
    } catch (error) {
      const problem = asProblem(error)
      if (problem.code === 'internal_error')
        parts.log.error({ err: error, method: request.method, url: request.url }, 'a request failed')
      return problemResponse(problem, request.url)
    }
  }
}

function success(spec: RouteSpec, answer: unknown): ApiResponse {
  if (spec.stream && isStream(answer))
    return {
      status: spec.status,
      headers: { 'content-type': 'text/event-stream' },
      body: answer as AsyncIterable<string>,
    }
  if (answer === null) return { status: spec.status, headers: {}, body: null }
  return {
    status: spec.status,
    headers: { 'content-type': 'application/json', ...resourceHeaders(spec, answer) },
    body: JSON.stringify(answer),
  }
}

const isStream = (answer: unknown): answer is AsyncIterable<string> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

function resourceHeaders(spec: RouteSpec, answer: unknown): Record<string, string> {
  const fields = new Map<string, unknown>(Object.entries(answer ?? {}))
  const version = fields.get('version')
  const location = spec.location?.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(fields.get(name))),
  )
  return {
    ...(typeof version === 'number' ? { etag: toEtag(version) } : {}),
    ...(location === undefined ? {} : { location: `${API_PREFIX}${location}` }),
  }
}

function asProblem(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (error instanceof StoreError)
    return new ProblemError('store_unavailable', 'the store does not answer; try again in a moment')
  return new ProblemError('internal_error', 'something went wrong inside LCM; its log has the details')
}

export function problemResponse(error: ProblemError, instance: string): ApiResponse {
  const problem = error.toProblem(instance.split('?')[0] ?? instance)
  return { status: problem.status, headers: { 'content-type': PROBLEM_MEDIA_TYPE }, body: JSON.stringify(problem) }
}
