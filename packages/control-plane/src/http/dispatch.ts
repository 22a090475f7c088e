import { ProblemError } from '@lcm/contract/problems'
import {
  ANSWER_MS_MAX,
  type ApiRequest,
  type ApiResponse,
  type Dispatch,
  EPOCH_HEADER,
  mayCall,
} from '@lcm/contract/route-spec'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import { type AccessControl, revocableStream } from '../access/access-control.ts'
import { originOf } from '../access/request-origin.ts'
import type { Api, Reply } from '../api-context.ts'
import { fenceOf } from '../resources/service/term-fencing.ts'
import type { ExtraRoutes } from './extra-routes.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'
import { executeOnce } from './idempotency.ts'
import { type FoundRoute, findRoute, ifMatchOf, jsonOf, parse, queryOf, refuseUnsafeValues } from './parse-request.ts'
import { asProblem, pathOf, problemResponse, responseOf } from './response.ts'
import { withDeadline } from './with-deadline.ts'

/** Placeholder origin: only path and query of a request matter. */
const ORIGIN = 'http://api.invalid'

/** The whole API as one function of a request. HTTP only wraps it, and the simulation calls it directly. */
export function dispatcher(parts: {
  api: Api
  handlers: Handlers
  access: AccessControl
  log: Logger
  extra: ExtraRoutes
}): Dispatch {
  const { api } = parts
  const { clock } = api
  const handlerOf = new Map<string, Handler>(Object.entries(parts.handlers))

  /** Asks the extra routes only for a path outside the contract, so they can't shadow it. */
  function answer(request: ApiRequest): Promise<ApiResponse> {
    if (!URL.canParse(request.url, ORIGIN)) throw new ProblemError('not_found', 'the address cannot be read')
    const url = new URL(request.url, ORIGIN)
    const found = findRoute(request.method, url.pathname)
    return found === null ? answerExtra(parts.extra, request, url) : answerRoute(request, url, found)
  }

  async function answerRoute(request: ApiRequest, url: URL, { name, spec, params }: FoundRoute): Promise<ApiResponse> {
    const actor = allowedOrRefused(await parts.access.identify(request), spec, request)
    refuseUnsafeValues(params, 'path')
    const raw: RawRequest = {
      params,
      query: parse(spec.query, spec.query && queryOf(url), 'query'),
      body: parse(spec.body, jsonOf(spec, request), 'body'),
      actor,
      ifMatch: ifMatchOf(spec, request),
      lastEventId: request.headers['last-event-id'] ?? null,
      fence: spec.fenced ? await fenceFor(api, actor, request) : null,
      epoch: epochOf(request),
      once: null,
      origin: originOf(request),
      signal: request.signal,
    }
    const handle = handlerOf.get(name)
    assert(handle, `${name} has no handler`)
    if (spec.idempotent) {
      const path = url.pathname.slice(API_PREFIX.length)
      return withDeadline(
        clock,
        ANSWER_MS_MAX,
        executeOnce(api, { request, actor, path }, once =>
          responseOrProblem(request, spec, () => handle({ ...raw, once })),
        ),
      )
    }
    // A large file has no deadline.
    if (spec.file !== undefined) return responseOf(spec, await handle(raw))
    if (!spec.stream) return responseOf(spec, await withDeadline(clock, ANSWER_MS_MAX, handle(raw)))
    const open = (signal: AbortSignal) => handle({ ...raw, signal }).then(eventsOf)
    const check = async () => refuseOtherActor(actor, await parts.access.recheck(request))
    const events = await revocableStream(open, { clock, signal: request.signal, check })
    return responseOf(spec, { kind: 'stream', events })
  }

  return async request => {
    try {
      return await answer(request)
    } catch (error) {
      const problem = asProblem(error)
      if (problem.code === 'internal_error')
        parts.log.error({ err: error, method: request.method, url: pathOf(request.url) }, 'request failed')
      return problemResponse(problem, request.url)
    }
  }
}

async function answerExtra(extra: ExtraRoutes, request: ApiRequest, url: URL): Promise<ApiResponse> {
  const response = await extra(request, url)
  if (response === null) throw new ProblemError('not_found', `nothing is at ${url.pathname}`)
  return response
}

async function fenceFor(api: Api, actor: Actor, request: ApiRequest): Promise<number> {
  const epoch = epochOf(request)
  if (actor.service !== null && epoch > 0) return fenceOf(api, actor.service, epoch)
  throw new ProblemError('precondition_required', `send the epoch of your term in ${EPOCH_HEADER}`)
}

/** Refusals are stored as well: a repeated request gets the same one. */
async function responseOrProblem(
  request: ApiRequest,
  spec: RouteSpec,
  work: () => Promise<Reply>,
): Promise<ApiResponse> {
  try {
    return responseOf(spec, await work())
  } catch (error) {
    const problem = asProblem(error)
    if (problem.code === 'internal_error') throw error
    return problemResponse(problem, request.url)
  }
}

/** 0 for a missing or malformed epoch. */
function epochOf(request: ApiRequest): number {
  const epoch = request.headers[EPOCH_HEADER]?.trim() ?? ''
  return /^[1-9]\d{0,14}$/.test(epoch) ? Number(epoch) : 0
}

function allowedOrRefused(actor: Actor, { access, bearerOnly }: RouteSpec, { headers }: ApiRequest): Actor {
  if (!mayCall(actor, access))
    throw new ProblemError('forbidden', `${actor.name} is ${actor.role}, which may not do this`)
  if (!bearerOnly || headers.authorization !== undefined) return actor
  throw new ProblemError('forbidden', 'a browser session may not do this; send a token')
}

/** Person and role decide what a stream shows, so another one needs another stream. */
function refuseOtherActor(before: Actor, { id, name, role }: Actor): void {
  if (id !== before.id || role !== before.role) throw new ProblemError('forbidden', `it is ${name} with ${role} now`)
}

function eventsOf(reply: Reply): AsyncIterable<string> {
  assert(reply.kind === 'stream', 'the handler of a stream replies with events')
  return reply.events
}
