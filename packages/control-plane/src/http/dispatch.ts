import { isAscii } from 'node:buffer'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import {
  ANSWER_MS_MAX,
  type ApiRequest,
  type ApiResponse,
  type Dispatch,
  EPOCH_HEADER,
  mayCall,
  toEtag,
} from '@lcm/contract/route'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import type { Actor, ServiceName } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { StoreError } from '@lcm/store/store'
import { type AccessControl, revocableStream } from '../access/access-control.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'
import { findRoute, ifMatchOf, jsonOf, parse, queryOf, refuseUnsafeValues } from './parse-request.ts'
import { type Encoded, type Reply, statusOf, withDeadline } from './reply.ts'

/** Placeholder origin: only path and query of a request matter. */
const ORIGIN = 'http://api.invalid'
/** Checks that the epoch is the registered term of the service, and returns the fence of its writes. */
export type FenceOf = (service: ServiceName, epoch: number) => Promise<number>
/** Executes a request with an Idempotency-Key once, and one without at every call. */
export type ExecuteOnce = (
  which: { request: ApiRequest; actor: Actor; path: string },
  execute: (once: RawRequest['once']) => Promise<ApiResponse>,
) => Promise<ApiResponse>
/** Routes outside the contract, such as the login page. Null passes the request on. */
export type Extra = (request: ApiRequest, url: URL) => Promise<ApiResponse | null>

/** The whole API as one function of a request. HTTP only wraps it, and the simulation calls it directly. */
export function dispatcher(parts: {
  handlers: Handlers
  access: AccessControl
  clock: Clock
  log: Logger
  extra: Extra
  fenceOf: FenceOf
  once: ExecuteOnce
}): Dispatch {
  const handlerOf = new Map<string, Handler>(Object.entries(parts.handlers))

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (!URL.canParse(request.url, ORIGIN)) throw new ProblemError('not_found', 'the address can not be read')
    const url = new URL(request.url, ORIGIN)
    const extra = await parts.extra(request, url)
    if (extra) return extra
    const { name, spec, params } = findRoute(request.method, url.pathname)
    const actor = allowedOrRefused(await parts.access.identify(request), spec)
    refuseUnsafeValues(params, 'path')
    const raw: RawRequest = {
      params,
      query: parse(spec.query, spec.query && queryOf(url), 'query'),
      body: parse(spec.body, jsonOf(spec, request), 'body'),
      actor,
      ifMatch: ifMatchOf(spec, request),
      lastEventId: request.headers['last-event-id'] ?? null,
      fence: spec.fenced ? await fenceFor(actor, request) : null,
      epoch: epochOf(request),
      once: null,
      signal: request.signal,
    }
    const handle = handlerOf.get(name)
    assert(handle, `${name} has no handler`)
    if (spec.idempotent) {
      const path = url.pathname.slice(API_PREFIX.length)
      return withDeadline(
        parts.clock,
        ANSWER_MS_MAX,
        parts.once({ request, actor, path }, once => responseOrProblem(request, spec, () => handle({ ...raw, once }))),
      )
    }
    // A large file has no deadline.
    if (spec.file !== undefined) return responseOf(spec, await handle(raw))
    if (!spec.stream) return responseOf(spec, await withDeadline(parts.clock, ANSWER_MS_MAX, handle(raw)))
    const open = (signal: AbortSignal) => handle({ ...raw, signal }).then(eventsOf)
    const check = async () => allowedOrRefused(await parts.access.recheck(request), spec)
    const events = await revocableStream(open, { clock: parts.clock, signal: request.signal, check })
    return responseOf(spec, { kind: 'stream', events })
  }

  async function fenceFor(actor: Actor, request: ApiRequest): Promise<number> {
    const epoch = epochOf(request)
    if (actor.service !== null && epoch > 0) return parts.fenceOf(actor.service, epoch)
    throw new ProblemError('precondition_required', `send the epoch of your term in ${EPOCH_HEADER}`)
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

function allowedOrRefused(actor: Actor, spec: RouteSpec): Actor {
  if (mayCall(actor, spec.access)) return actor
  throw new ProblemError('forbidden', `${actor.name} is ${actor.role}, which may not do this`)
}

function responseOf(spec: RouteSpec, reply: Reply): ApiResponse {
  const status = statusOf(spec, reply)
  switch (reply.kind) {
    case 'json':
    case 'created':
      return {
        status,
        headers: { 'content-type': 'application/json', ...resourceHeaders(spec, reply.body) },
        body: JSON.stringify(reply.body),
      }
    case 'encoded':
      return encodedResponse(status, reply)
    case 'empty':
      return { status, headers: {}, body: null }
    case 'stream':
      return { status, headers: { 'content-type': 'text/event-stream' }, body: reply.events }
    case 'file':
      return { status, headers: fileHeaders(spec.file ?? 'application/octet-stream'), body: null, file: reply.chunks }
  }
}

const encodedResponse = (status: number, { bytes }: Encoded<unknown>): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  bytes,
  get body() {
    const { buffer, byteOffset, byteLength } = bytes.data
    // Several times faster than UTF-8, and most pages are ASCII.
    return Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes.data) ? 'latin1' : 'utf8')
  },
})

const fileHeaders = (mediaType: string) => ({
  'content-type': mediaType,
  'content-disposition': 'attachment; filename="lcm.backup"',
})

function eventsOf(reply: Reply): AsyncIterable<string> {
  assert(reply.kind === 'stream', 'the handler of a stream replies with events')
  return reply.events
}

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
    return new ProblemError('store_unavailable', error.advice ?? 'the store does not answer; try again in a moment')
  return new ProblemError('internal_error', 'something went wrong inside LCM; its log has the details')
}

/** The query may hold a login code, which belongs neither in a log nor in a response. */
const pathOf = (url: string): string => url.split('?')[0] ?? url

export function problemResponse(error: ProblemError, instance: string): ApiResponse {
  const problem = error.toProblem(pathOf(instance))
  return {
    status: problem.status,
    headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...adviceOf(error, problem.status) },
    body: JSON.stringify(problem),
  }
}

function adviceOf({ retryAfterSeconds, allow }: ProblemError, status: number): Record<string, string> {
  return {
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(allow === undefined ? {} : { allow: allow.join(', ') }),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  }
}
