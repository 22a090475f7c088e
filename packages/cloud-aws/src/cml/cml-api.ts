import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import type { Clock } from '@lcm/runtime/clock'
import { withinDeadline } from '../cloud-call.ts'
import { errorFromResponse, malformedResponse, toCmlError } from './api-errors.ts'
import { type CmlConnectionPool, cmlConnectionPool } from './connection-pool.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import { jsonIn } from './json-readers.ts'
import { cmlLogins, type LoginPath, type Session } from './login-sessions.ts'
import { retryAfterPauses } from './retry-after-pauses.ts'
import type { Trust } from './tls-connection.ts'

export const DEADLINE_MS = 15_000
export const LONG_DEADLINE_MS = 60_000
const JSON_BYTES_MAX = 1024 * 1024
export const LARGE_BYTES_MAX = 20 * 1024 * 1024
/** Characters of a CML id. Nothing else may become part of a path. */
export const ID = /^[\w-]{1,128}$/

/** One exchange, for metrics: contains no secrets and no unbounded values. */
export interface CmlCall {
  readonly method: string
  /** With names in braces for ids, such as `/labs/{lab_id}`. */
  readonly path: string
  /** Null without a response. */
  readonly status: number | null
  readonly ms: number
}

export interface CmlClientOptions {
  readonly clock: Clock
  readonly onCall?: (call: CmlCall) => void
  /** `pin` by default. */
  readonly verify?: Trust['verify']
  /** PEM of an authority to trust besides the public ones. */
  readonly ca?: string
}

export const trustOf = ({ verify = 'pin', ca }: CmlClientOptions): Trust => ({ verify, ca: ca ?? null })

export interface CmlRequest {
  readonly method: HttpRequest['method']
  /** Below `/api/v0`, with names in braces for ids. */
  readonly path: string
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Instead of `json`; sent without a content type, as the official client does. */
  readonly text?: string
  readonly deadlineMs?: number
  readonly bytesMax?: number
  /** Status codes that count as success besides 2xx. */
  readonly expected?: readonly number[]
  /** Secrets to remove from messages, besides the login's own. */
  readonly secrets?: readonly string[]
}

export interface CmlApi {
  /** Resolves with a 2xx or an expected status; rejects only with a CloudError. */
  call(login: CmlLogin, request: CmlRequest, signal: AbortSignal): Promise<HttpResponse>
  /** Id of our user on that server. */
  ownUserId(login: CmlLogin, signal: AbortSignal): Promise<string | null>
  close(): Promise<void>
}

/** Authenticated calls to CML servers, each within its deadline. */
export function cmlApi(options: CmlClientOptions): CmlApi {
  const { clock } = options
  const closing = new AbortController()
  const inFlight = new Set<Promise<unknown>>()
  const trust = trustOf(options)
  const wire = measuredWire(options, cmlConnectionPool({ clock, trust }))
  const pauses = retryAfterPauses(clock)
  const sessions = cmlLogins(clock, (login, path, body) => {
    const limits = { clock, deadlineMs: DEADLINE_MS, signals: [closing.signal] }
    return withinDeadline(limits, signal => paused(login, loginRequest(path, body), signal)).catch(error => {
      throw toCmlError(`POST ${path}`, error, [login.password])
    })
  })

  async function paused(login: CmlLogin, request: TemplatedRequest, signal: AbortSignal): Promise<HttpResponse> {
    const action = actionOf(request)
    refusePlain(login, trust, action)
    pauses.refuseDuring(login.url, action)
    const answer = await wire.send(login, request, signal)
    if (answer.status === 429) pauses.begin(login.url, answer.retryAfter)
    else pauses.end(login.url)
    return answer
  }
  async function askOnce(login: CmlLogin, request: CmlRequest, signal: AbortSignal): Promise<HttpResponse> {
    const session = await sessions.current(login)
    const answer = await paused(login, httpRequest(request, session), signal)
    if (answer.status !== 401) return judged(answer, request, [login.password, session.token])
    const renewed = await sessions.renewed(login, session)
    const again = await paused(login, httpRequest(request, renewed), signal)
    if (again.status === 401) sessions.forget(login, renewed)
    return judged(again, request, [login.password, session.token, renewed.token])
  }
  async function bounded<Answer>(
    login: CmlLogin,
    { action, deadlineMs, signal, secrets }: Bounds,
    run: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const limits = { clock, deadlineMs, signals: [signal, closing.signal] }
    const call = withinDeadline(limits, run).catch(error => {
      throw toCmlError(action, error, [login.password, ...secrets])
    })
    inFlight.add(call)
    return call.finally(() => inFlight.delete(call))
  }

  return {
    call(login, request, signal) {
      const { deadlineMs = DEADLINE_MS, secrets = [] } = request
      const bounds = { action: actionOf(request), deadlineMs, signal, secrets }
      return bounded(login, bounds, inner => askOnce(login, request, inner))
    },
    ownUserId(login, signal) {
      const bounds = { action: 'POST /auth_extended', deadlineMs: DEADLINE_MS, signal, secrets: [] }
      return bounded(login, bounds, async () => (await sessions.current(login)).userId)
    },
    async close() {
      closing.abort()
      await Promise.allSettled(inFlight)
      await wire.close()
    },
  }
}

interface Bounds {
  readonly action: string
  readonly deadlineMs: number
  readonly signal: AbortSignal
  readonly secrets: readonly string[]
}

interface TemplatedRequest extends HttpRequest {
  readonly template: string
}

const actionOf = (request: { method: string; path: string; template?: string }) =>
  `${request.method} ${request.template ?? request.path}`

function measuredWire({ clock, onCall }: CmlClientOptions, connections: CmlConnectionPool) {
  return {
    async send(login: CmlLogin, request: TemplatedRequest, signal: AbortSignal): Promise<HttpResponse> {
      const beganMs = clock.monotonic()
      let status: number | null = null
      try {
        const answer = await connections.send(login, request, signal)
        status = answer.status
        return answer
      } finally {
        onCall?.({ method: request.method, path: request.template, status, ms: clock.monotonic() - beganMs })
      }
    },
    close: () => connections.close(),
  }
}

/** A password is not sent in the clear unless all checks were turned off. */
function refusePlain({ url }: CmlLogin, { verify }: Trust, action: string): void {
  if (verify === 'off' || !/^http:/i.test(url)) return
  const message = 'the endpoint is plain http, which would show the password to everybody on the way'
  throw new CloudError('transient', { code: 'PlainHttp', action, message })
}

const JSON_HEADERS = { accept: 'application/json', 'content-type': 'application/json' }

const loginRequest = (template: LoginPath, body: string): TemplatedRequest => ({
  method: 'POST',
  path: `/api/v0${template}`,
  template,
  headers: JSON_HEADERS,
  body,
  bytesMax: JSON_BYTES_MAX,
})

function httpRequest(request: CmlRequest, { token }: Session): TemplatedRequest {
  const { method, json, text, query = {}, bytesMax = JSON_BYTES_MAX } = request
  const search = new URLSearchParams(query).toString()
  const headers = json === undefined ? { accept: '*/*' } : JSON_HEADERS
  return {
    method,
    path: `/api/v0${pathOf(request)}${search === '' ? '' : `?${search}`}`,
    template: request.path,
    headers: { ...headers, authorization: `Bearer ${token}` },
    body: json === undefined ? (text ?? null) : JSON.stringify(json),
    bytesMax,
  }
}

function pathOf(request: CmlRequest): string {
  return request.path.replaceAll(/\{(\w+)\}/g, (_part, name: string) => {
    const id = request.ids?.[name] ?? ''
    if (ID.test(id)) return id
    throw new CloudError('invalid', { code: 'InvalidId', action: actionOf(request), message: `${name} is not an id` })
  })
}

function judged(answer: HttpResponse, request: CmlRequest, secrets: readonly string[]): HttpResponse {
  const isGood = answer.status >= 200 && answer.status < 300
  if (isGood || request.expected?.includes(answer.status)) return answer
  throw errorFromResponse(answer, {
    action: actionOf(request),
    secrets: [...secrets, ...(request.secrets ?? [])],
    ids: Object.values(request.ids ?? {}),
  })
}

/** The JSON of a response, which may not be null. */
export function jsonOf(answer: HttpResponse, request: CmlRequest): NonNullable<unknown> {
  return jsonIn(answer.text) ?? throwMalformed(request, 'not with the JSON of CML')
}

/** The response can't be trusted, so nothing may be concluded from it. */
export function throwMalformed(request: CmlRequest, how: string): never {
  throw malformedResponse(actionOf(request), `answered, but ${how}`)
}
