import { mayCall } from '@lcm/contract/access'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'
import { type ApiRequest, type ApiResponse, type Dispatch, EPOCH_HEADER, fromEtag, toEtag } from '@lcm/contract/wire'
import type { Actor, ServiceName } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import { StoreError } from '@lcm/store/store'
import type { z } from 'zod'
import type { AccessControl } from './access-control.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'

/** Only the path and the query of a request matter here. */
const ORIGIN = 'http://api.invalid'
export const BODY_BYTES_MAX = 1024 * 1024
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
  const routes = Object.entries<RouteSpec>(ROUTES).map(([name, spec]) => ({ name, spec, match: matcher(spec.path) }))

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (!URL.canParse(request.url, ORIGIN)) throw new ProblemError('not_found', 'the address can not be read')
    const url = new URL(request.url, ORIGIN)
    const extra = await parts.extra(request, url)
    if (extra) return extra
    const { name, spec, params } = route(request.method, url.pathname)
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

  function route(method: string, pathname: string): { name: string; spec: RouteSpec; params: Record<string, string> } {
    if (!pathname.startsWith(`${API_PREFIX}/`)) throw new ProblemError('not_found', `nothing is at ${pathname}`)
    const path = pathname.slice(API_PREFIX.length)
    const found = routes.flatMap(({ name, spec, match }) => {
      const params = match(path)
      return params ? [{ name, spec, params }] : []
    })
    const chosen = found.find(each => each.spec.method === method)
    if (chosen) return chosen
    if (found.length === 0) throw new ProblemError('not_found', `nothing is at ${pathname}`)
    throw new ProblemError(
      'method_not_allowed',
      `${pathname} takes ${found.map(each => each.spec.method).join(', ')}, not ${method}`,
    )
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

/** Matches a path such as `/workers/{id}` and answers its parameters. */
function matcher(path: string): (candidate: string) => Record<string, string> | null {
  const parts = path.split('/')
  return candidate => {
    const given = candidate.split('/')
    if (given.length !== parts.length) return null
    const params: Record<string, string> = {}
    for (const [index, part] of parts.entries()) {
      const value = given[index] ?? ''
      if (part.startsWith('{') && value !== '') params[part.slice(1, -1)] = decoded(value)
      else if (part !== value) return null
    }
    return params
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new ProblemError('not_found', 'the path is not valid UTF-8')
  }
}

const queryOf = (url: URL): Record<string, string> => Object.fromEntries(url.searchParams)

function jsonOf(spec: RouteSpec, request: ApiRequest): unknown {
  if (!spec.body) return undefined
  const text = request.body ?? ''
  if (text.length > BODY_BYTES_MAX) throw new ProblemError('body_too_large', `at most ${BODY_BYTES_MAX} bytes`)
  if (text === '') return {}
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/(json|merge-patch\+json)\s*(;|$)/i.test(type)) {
    throw new ProblemError('unsupported_media_type', `the body came as ${type || 'nothing'}; send application/json`)
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ProblemError('malformed_json', error instanceof Error ? error.message : 'not JSON')
  }
}

function parse(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (!schema) return undefined
  refuseNul(value, where)
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const errors = result.error.issues.map(issue => ({ path: [where, ...issue.path].join('.'), message: issue.message }))
  const [first] = errors
  const detail =
    errors.length === 1 && first
      ? `${first.path}: ${first.message}`
      : `${errors.length} fields are not as they should be`
  throw new ProblemError('validation_failed', detail, errors)
}

/** Stores differ in what they make of NUL, so it goes no further than here. */
function refuseNul(value: unknown, path: string): void {
  if (typeof value === 'string' && value.includes('\u0000')) {
    throw new ProblemError('validation_failed', `${path}: NUL is not allowed`, [
      { path, message: 'NUL is not allowed' },
    ])
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    refuseNul(key, path)
    refuseNul(child, `${path}.${key}`)
  }
}

function ifMatchOf(spec: RouteSpec, request: ApiRequest): number | null {
  const header = request.headers['if-match']
  if (header === undefined || header === '*') {
    if (spec.ifMatch === 'required')
      throw new ProblemError('precondition_required', 'say which version you read, with If-Match')
    return null
  }
  const version = fromEtag(header)
  if (version === null) {
    const errors = [{ path: 'headers.if-match', message: 'a version such as "7"' }]
    throw new ProblemError('validation_failed', `If-Match is not a version: ${header.slice(0, 40)}`, errors)
  }
  return version
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
