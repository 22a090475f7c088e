import { isAscii } from 'node:buffer'
import { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import { apiDocsPage } from '@lcm/contract/api-docs/page'
import { openApi } from '@lcm/contract/openapi/document'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import {
  ANSWER_MS_MAX,
  type ApiRequest,
  type ApiResponse,
  type Dispatch,
  EPOCH_HEADER,
  mayCall,
  toEtag,
} from '@lcm/contract/route-spec'
import { API_PREFIX, type RouteSpec } from '@lcm/contract/routes'
import type { Actor } from '@lcm/domain/actor'
import { assert } from '@lcm/domain/assert'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import { StoreError } from '@lcm/store/store'
import { type AccessControl, revocableStream } from '../access/access-control.ts'
import { fenceOf } from '../resources/service/terms.ts'
import type { Api, Encoded, Reply } from './api-context.ts'
import type { Handler, Handlers, RawRequest } from './handlers.ts'
import { executeOnce } from './idempotency.ts'
import { findRoute, ifMatchOf, jsonOf, methodNotAllowed, parse, queryOf, refuseUnsafeValues } from './parse-request.ts'

/** Placeholder origin: only path and query of a request matter. */
const ORIGIN = 'http://api.invalid'
/** Routes outside the contract, such as the login page. Null passes the request on. */
type Extra = (request: ApiRequest, url: URL) => Promise<ApiResponse | null>

/** The whole API as one function of a request. HTTP only wraps it, and the simulation calls it directly. */
export function dispatcher(parts: {
  api: Api
  handlers: Handlers
  access: AccessControl
  log: Logger
  extra: Extra
}): Dispatch {
  const { api } = parts
  const { clock } = api
  const handlerOf = new Map<string, Handler>(Object.entries(parts.handlers))

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    if (!URL.canParse(request.url, ORIGIN)) throw new ProblemError('not_found', 'the address cannot be read')
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
    const check = async () => allowedOrRefused(await parts.access.recheck(request), spec)
    const events = await revocableStream(open, { clock, signal: request.signal, check })
    return responseOf(spec, { kind: 'stream', events })
  }

  async function fenceFor(actor: Actor, request: ApiRequest): Promise<number> {
    const epoch = epochOf(request)
    if (actor.service !== null && epoch > 0) return fenceOf(api, actor.service, epoch)
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

/** Rejects after `ms`. The work itself continues. */
export async function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  let cancel = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    const refuse = () => reject(new ProblemError('deadline_exceeded', `no answer within ${ms / 1000} s`))
    cancel = clock.after(ms, refuse)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
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

/** 201 for a resource that was created, the second status of the route for one that was there. */
const statusOf = (spec: RouteSpec, { kind }: Reply): number =>
  kind === 'json' ? (spec.alsoStatus?.status ?? spec.status) : spec.status

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

/** State of the process that the API serves on its behalf. */
export interface ProcessStatus {
  /** `status: healthy | degraded | unhealthy`, with an explanation. */
  health(): { readonly status: string }
  /** Reason why the process is not ready, in a few words; null when it is. */
  waitsFor(): string | null
  /** Process metrics in Prometheus text format. */
  metrics(): Promise<string>
  /** Routes of the controllers in this process; null for a service that runs elsewhere. */
  controller?(service: string, ask: ControllerRequest): Promise<{ status: number; body: object | string }> | null
  /** Control API of the simulated cloud; absent with a real cloud or a simulator in another process. */
  simulator?(request: SimulatorRequest): { readonly status: number; readonly body: object }
}

export interface SimulatorRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly body: string
}

export interface ControllerRequest {
  readonly method: string
  /** Below `/services/<service>`. */
  readonly path: string
  /** Role of the caller; null without authentication. */
  roleOf(): Promise<string | null>
}

interface ExtraParts {
  /** Whether the store responds. */
  readonly storeAnswers: () => Promise<boolean>
  /** Whether changes can be followed from this replica. */
  readonly changesAreListed: () => Promise<boolean>
  /** Fleet metrics in Prometheus text format. */
  readonly fleetMetrics: () => Promise<string>
  readonly access: AccessControl
  readonly process: ProcessStatus
  readonly version: string
  /** Whether `/metrics` needs no authentication. */
  readonly metricsPublic?: boolean
}

interface ExtraRoute {
  readonly methods: readonly string[]
  answer(request: ApiRequest, url: URL): Promise<ApiResponse> | ApiResponse
}

/** Routes outside the contract: login and logout, API documents, health and metrics. */
export function extraRoutes(parts: ExtraParts): Extra {
  const { browser } = parts.access
  const documents = documentsOf(parts.version)
  const routes = new Map<string, ExtraRoute>([
    ['/health', probe(() => json(200, JSON.stringify(parts.process.health())))],
    ['/ready', probe(() => ready(parts))],
    ['/metrics', get(request => metrics(parts, request))],
    ...documents,
    ['/login', get(browser.login)],
    ['/login/callback', get(browser.callback)],
    ['/logout', { methods: ['POST'], answer: browser.logout }],
  ])
  return async (request, url) => {
    const route = routes.get(url.pathname)
    if (url.pathname.startsWith(`${SIM_CONTROL_PATH}/`)) return simulatorAnswer(parts, request, url)
    if (!route) return controllerAnswer(parts, request, url)
    if (!route.methods.includes(request.method)) throw methodNotAllowed(url.pathname, request.method, route.methods)
    return route.answer(request, url)
  }
}

/** Only admins may inject faults; the simulator itself checks no role. */
async function simulatorAnswer({ access, process }: ExtraParts, request: ApiRequest, url: URL) {
  if (process.simulator === undefined) return null
  const { name, role } = await access.identify(request)
  if (role !== 'admin') throw new ProblemError('forbidden', `${name} is ${role}, which may not do this`)
  const { method, body } = request
  const answer = process.simulator({ method, url: `${url.pathname}${url.search}`, body: body ?? '' })
  return json(answer.status, JSON.stringify(answer.body))
}

/** `/services/<service>/health` and the like: routes of a controller, served on the product port. */
async function controllerAnswer({ access, process }: ExtraParts, request: ApiRequest, url: URL) {
  const [, service = '', path = ''] = /^\/services\/([\w-]+)(\/.+)$/.exec(url.pathname) ?? []
  const roleOf = async () => {
    try {
      return (await access.identify(request)).role
    } catch (error) {
      if (error instanceof ProblemError && error.code === 'unauthenticated') return null
      throw error
    }
  }
  const answer = await (service === '' ? null : process.controller?.(service, { method: request.method, path, roleOf }))
  if (!answer) return null
  const { status, body } = answer
  if (typeof body === 'string') return { status, headers: { 'content-type': 'text/plain; version=0.0.4' }, body }
  const type = status < 400 ? 'application/json' : PROBLEM_MEDIA_TYPE
  return { status, headers: { 'content-type': type }, body: JSON.stringify(body) }
}

/** Response of `/ready`. */
export const readiness = (waitsFor: string | null): ApiResponse =>
  waitsFor === null
    ? json(200, JSON.stringify({ ready: true }))
    : json(503, JSON.stringify({ ready: false, waits_for: waitsFor }))

/** A replica is not ready while it can't reach its store or follow changes. */
async function ready({ process, storeAnswers, changesAreListed }: ExtraParts): Promise<ApiResponse> {
  const own = process.waitsFor()
  if (own !== null) return readiness(own)
  if (!(await storeAnswers())) return readiness('the store: it does not respond')
  if (!(await changesAreListed())) return readiness('the first list of changes from etcd')
  return readiness(null)
}

/** Built on first use, because most processes never serve them. */
function documentsOf(version: string): [string, ExtraRoute][] {
  const page = lazy(() => apiDocsPage(version))
  const document = lazy(() => JSON.stringify(openApi(version)))
  const served = (type: string, body: () => string | null) =>
    get(() => ({ status: 200, headers: { 'content-type': `${type}; charset=utf-8` }, body: body() }))
  return [
    ['/api/v1/openapi.json', get(() => json(200, document()))],
    ['/api/docs', served('text/html', () => page().html)],
    ['/api/docs/style.css', served('text/css', () => page().css)],
    ['/api/docs/script.js', served('text/javascript', () => page().script)],
  ]
}

function lazy<T>(make: () => T): () => T {
  let made: { value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const get = (answer: ExtraRoute['answer']): ExtraRoute => ({ methods: ['GET'], answer })
/** Some load balancers send HEAD. Other routes refuse it: a login code would be used up. */
const probe = (answer: ExtraRoute['answer']): ExtraRoute => ({ methods: ['GET', 'HEAD'], answer })

const json = (status: number, body: string): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body,
})

async function metrics({ access, process, fleetMetrics, metricsPublic = false }: ExtraParts, request: ApiRequest) {
  if (!metricsPublic) await access.identify(request)
  const body = `${await process.metrics()}${await fleetMetrics()}`
  return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4' }, body }
}
