import { isAscii } from 'node:buffer'
import { mayCall } from '@lcm/contract/access'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import {
  ANSWER_MS_MAX,
  type ApiRequest,
  type ApiResponse,
  type Dispatch,
  EPOCH_HEADER,
  toEtag,
} from '@lcm/contract/wire'
import type { Actor, ServiceName } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { StoreError } from '@lcm/store/store'
import type { AccessControl } from '../access/access-control.ts'
import { revocableStream } from '../access/revocable-stream.ts'
import { OtherStatus } from '../resources/other-status.ts'
import { withDeadline } from './deadline.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'
import { JsonBytes } from './json-page.ts'
import { ifMatchOf, jsonOf, parse, queryOf, refuseUnsafeValues } from './parse-request.ts'
import { findRoute } from './router.ts'

/** Only the path and the query of a request matter here. */
const ORIGIN = 'http://api.invalid'
/** Checks that this is the registered term of the service and answers the number that guards its writes. */
export type FenceOf = (service: ServiceName, epoch: number) => Promise<number>
/** Carries a request with an Idempotency-Key out once, and one without whenever it comes. */
export type ExecuteOnce = (
  which: { request: ApiRequest; actor: Actor; path: string },
  carryOut: (once: RawRequest['once']) => Promise<ApiResponse>,
) => Promise<ApiResponse>
/** What needs no route of the contract, such as the login page. Null passes the request on. */
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
        parts.once({ request, actor, path }, once => carriedOut(request, spec, () => handle({ ...raw, once }))),
      )
    }
    // A large file takes its time to make, and whoever asked for it waits.
    if (spec.file !== undefined) return success(spec, await handle(raw))
    if (!spec.stream) return success(spec, await withDeadline(parts.clock, ANSWER_MS_MAX, handle(raw)))
    const open = (signal: AbortSignal) => handle({ ...raw, signal }).then(streamOf)
    const check = async () => allowedOrRefused(await parts.access.recheck(request), spec)
    return success(spec, await revocableStream(open, { clock: parts.clock, signal: request.signal, check }))
  }

  async function fenceFor(actor: Actor, request: ApiRequest): Promise<number> {
    const epoch = epochOf(request)
    if (actor.service !== null && epoch > 0) return parts.fenceOf(actor.service, epoch)
    throw new ProblemError('precondition_required', `say which term you write in, with ${EPOCH_HEADER}`)
  }

  return async request => {
    try {
      return await answer(request)
    } catch (error) {
      const problem = asProblem(error)
      if (problem.code === 'internal_error')
        parts.log.error({ err: error, method: request.method, url: pathOf(request.url) }, 'a request failed')
      return problemResponse(problem, request.url)
    }
  }
}

/** Refusals are answers too: the same request gets the same one again. */
async function carriedOut(request: ApiRequest, spec: RouteSpec, work: () => Promise<unknown>): Promise<ApiResponse> {
  try {
    return success(spec, await work())
  } catch (error) {
    const problem = asProblem(error)
    if (problem.code === 'internal_error') throw error
    return problemResponse(problem, request.url)
  }
}

/** 0 when none is named, or none that could be. */
function epochOf(request: ApiRequest): number {
  const epoch = request.headers[EPOCH_HEADER]?.trim() ?? ''
  return /^[1-9]\d{0,14}$/.test(epoch) ? Number(epoch) : 0
}

function allowedOrRefused(actor: Actor, spec: RouteSpec): Actor {
  if (mayCall(actor, spec.access)) return actor
  throw new ProblemError('forbidden', `${actor.name} is ${actor.role}, which may not do this`)
}

function success(spec: RouteSpec, answer: unknown): ApiResponse {
  if (answer instanceof OtherStatus) return success({ ...spec, status: answer.status }, answer.answer)
  if (spec.file !== undefined && isStream<Uint8Array>(answer))
    return { status: spec.status, headers: fileHeaders(spec.file), body: null, file: answer }
  if (spec.stream && isStream(answer))
    return {
      status: spec.status,
      headers: { 'content-type': 'text/event-stream' },
      body: answer,
    }
  if (answer === null) return { status: spec.status, headers: {}, body: null }
  if (answer instanceof JsonBytes) return inBytes(spec.status, answer)
  return {
    status: spec.status,
    headers: { 'content-type': 'application/json', ...resourceHeaders(spec, answer) },
    body: JSON.stringify(answer),
  }
}

const inBytes = (status: number, { bytes }: JsonBytes<unknown>): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  bytes,
  get body() {
    const { buffer, byteOffset, byteLength } = bytes.data
    // Several times faster than UTF-8, and nearly every page is plain.
    return Buffer.from(buffer, byteOffset, byteLength).toString(isAscii(bytes.data) ? 'latin1' : 'utf8')
  },
})

const fileHeaders = (mediaType: string) => ({
  'content-type': mediaType,
  'content-disposition': 'attachment; filename="lcm.backup"',
})

const isStream = <T = string>(answer: unknown): answer is AsyncIterable<T> =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

function streamOf(answer: unknown): AsyncIterable<string> {
  assert(isStream(answer), 'the handler of a stream answers none')
  return answer
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

/** The query may hold a login code, which belongs neither into a log nor into an answer. */
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
