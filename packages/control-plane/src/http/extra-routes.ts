import { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import { apiDocsPage } from '@lcm/contract/api-docs/page'
import { openApi } from '@lcm/contract/openapi/document'
import { PROBLEM_MEDIA_TYPE, ProblemError } from '@lcm/contract/problems'
import type { ApiRequest, ApiResponse } from '@lcm/contract/route-spec'
import type { Reason } from '@lcm/domain/reason'
import { redactReason } from '@lcm/domain/redact-reason'
import type { AccessControl } from '../access/access-control.ts'
import { seesAll } from '../visibility.ts'
import { methodNotAllowed } from './parse-request.ts'

/** Answers a path outside the contract, such as the login page; null for an unknown path. */
export type ExtraRoutes = (request: ApiRequest, url: URL) => Promise<ApiResponse | null>

/** State of the process that the API serves on its behalf. */
export interface ProcessStatus {
  health(): ProcessHealth
  /** Reason why the process is not ready, in a few words; null when it is. */
  waitsFor(): string | null
  /** Process metrics in Prometheus text format. */
  metrics(): Promise<string>
  /** Routes of the controllers in this process; null for a service that runs elsewhere. */
  controller?(service: string, ask: ControllerRequest): Promise<{ status: number; body: object | string }> | null
  /** Control API of the simulated cloud; absent with a real cloud or a simulator in another process. */
  simulator?(request: SimulatorRequest): { readonly status: number; readonly body: object }
}

/** `status: healthy | degraded | unhealthy`, with an explanation. */
interface ProcessHealth {
  readonly status: string
  readonly problems?: readonly Reason[]
  /** Of the controllers in this process; their problems are among those of the process. */
  readonly services?: readonly Pick<Required<ProcessHealth>, 'problems'>[]
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
export function extraRoutes(parts: ExtraParts): ExtraRoutes {
  const { browser, provider } = parts.access
  const documents = documentsOf(parts.version)
  const routes = new Map<string, ExtraRoute>([
    [
      '/health',
      probe(async request => json(200, JSON.stringify(await healthFor(parts, request, parts.process.health())))),
    ],
    ['/ready', probe(() => ready(parts))],
    ['/metrics', get(request => metrics(parts, request))],
    ...documents,
    ['/login', { methods: ['GET', 'POST'], answer: pageOrLogin(browser) }],
    ['/login/provider', get(provider.begin)],
    ['/login/callback', get(provider.callback)],
    ['/login/provider-logout', { methods: ['POST'], answer: provider.logout }],
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

/** Health is open, and never fails for a wrong token. Problems may name accounts and addresses, which operators may read. */
async function healthFor({ access }: ExtraParts, request: ApiRequest, health: ProcessHealth): Promise<ProcessHealth> {
  const { problems = [], services } = health
  if (problems.length === 0) return health
  const actor = await access.identify(request).catch(() => null)
  if (actor !== null && seesAll(actor)) return health
  const redacted = { ...health, ...withoutDetails({ problems }) }
  return services === undefined ? redacted : { ...redacted, services: services.map(withoutDetails) }
}

const withoutDetails = <T extends { readonly problems: readonly Reason[] }>(about: T): T => ({
  ...about,
  problems: about.problems.map(redactReason),
})

const pageOrLogin =
  ({ page, login }: AccessControl['browser']): ExtraRoute['answer'] =>
  (request, url) =>
    request.method === 'GET' ? page(request, url) : login(request)

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
/** Some load balancers send HEAD. Other routes refuse it. */
const probe = (answer: ExtraRoute['answer']): ExtraRoute => ({ methods: ['GET', 'HEAD'], answer })

const json = (status: number, body: string): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body,
})

async function metrics({ access, process, fleetMetrics, metricsPublic = false }: ExtraParts, request: ApiRequest) {
  if (!metricsPublic) await access.identify(request)
  const body = `${await process.metrics()}${await fleetMetrics()}${access.audit.metrics()}`
  return { status: 200, headers: { 'content-type': 'text/plain; version=0.0.4' }, body }
}
