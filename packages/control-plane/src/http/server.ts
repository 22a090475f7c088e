import { METHODS, type Server, type ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import fastifyStatic from '@fastify/static'
import { SIM_CONTROL_PATH } from '@lcm/contract/administration'
import { ProblemError } from '@lcm/contract/problems'
import { type ApiResponse, bodyLimitsOf, DEFAULT_BODY_LIMITS, type Dispatch } from '@lcm/contract/route-spec'
import { API_PREFIX, ROUTES, type RouteSpec } from '@lcm/contract/routes'
import type { Clock } from '@lcm/runtime/clock'
import {
  type CertificatePair,
  createHttpServer,
  type HttpServerOptions,
  replaceCertificate,
} from '@lcm/runtime/http-server'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { clientAddress, type TrustedProxies } from '../access/client-address.ts'
import { isReachedByHttps } from '../access/public-address.ts'
import { bodyTooLarge } from './parse-request.ts'
import { problemResponse } from './response.ts'

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
/** Routes of `dispatch` outside of `/api`. */
const OTHER_PATHS = [
  ...['/login', '/login/provider', '/login/callback', '/login/provider-logout', '/logout'],
  ...['/health', '/ready', '/metrics', '/services/*'],
  `${SIM_CONTROL_PATH}/*`,
]
/** Timeout for receiving a request. */
const REQUEST_MS_MAX = 30_000
/** Longer than that of common load balancers, so that they close idle connections first. */
const KEEP_ALIVE_MS = 72_000
/** Timeout checks per request timeout. */
const CHECKS_PER_TIMEOUT = 6
/** A client that reads nothing for this long is gone or broken. */
const DRAIN_MS_MAX = 30_000
/** Timeout for sending a response that is no stream, so that its memory is freed: enough on a slow line. */
const ANSWER_MS_MAX = 120_000
/** Time for requests in progress once the server closes. */
const CLOSE_MS_MAX = 10_000
const CLOSE_CHECK_MS = 20

/** Abort reasons, created once: a new error per request is expensive. */
const GONE = new Error('the client has disconnected')
const CLOSING = new Error('the server is closing')
/** Reconnect delays of streams when the server closes: spread out. */
const RECONNECT_MS = { first: 500, last: 2_500 }

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}

/** Browsers use only HTTPS for this host from then on. */
const HSTS = { 'strict-transport-security': 'max-age=31536000' }
/** Other servers on this machine may have no certificate, and share the name. */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

export interface ServerOptions {
  readonly dispatch: Dispatch
  readonly clock: Clock
  readonly host: string
  readonly port: number
  /** Accepted host names, so that the name of another site can't lead a browser here (DNS rebinding). */
  readonly hostnames: readonly string[]
  /** Folder of the built console; without it only the API is served. */
  readonly consoleDir: string | null
  /** Address of the console in browsers, when it differs from the address of the server. */
  readonly publicUrl?: string | null
  /** Proxies whose `X-Forwarded-For` names the client; without any, the peer is the client. */
  readonly trustedProxies?: TrustedProxies
  /** Once aborted, every response closes its connection, so that clients reconnect elsewhere. */
  readonly ending?: AbortSignal
  /** Timeout for receiving a request, on Node's own clock: no other can abort a request that was not read yet. */
  readonly requestMsMax?: number
  /** Serves HTTPS with it; null serves HTTP. */
  readonly certificate?: CertificatePair | null
}

export interface RunningServer {
  readonly url: string
  /** Replaces the certificate for new connections. Open ones continue. */
  useCertificate(pair: CertificatePair): void
  /** Finishes requests in progress, up to a limit or until `hurry` aborts. Event streams end with a reconnect delay. */
  close(hurry?: AbortSignal): Promise<void>
}

/** HTTP around `dispatch`: reads bodies, streams responses, serves the console's files. It decides nothing. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const app = fastify({
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    bodyLimit: DEFAULT_BODY_LIMITS.bytesMax,
    serverFactory: handler => createHttpServer(httpOptions(options), handler),
    exposeHeadRoutes: false,
    // Without these two Fastify would load validators for JSON schemas, which no route has: the contract validates.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // A malformed URL reaches neither hooks nor handlers.
    frameworkErrors: (_error, request, reply) => {
      const problem = new ProblemError('not_found', 'the address cannot be read')
      return send(reply.headers(securityHeaders(request, options)), problemResponse(problem, request.url))
    },
  })
  guard(app, options)
  // Fastify handles some methods itself and rejects others; `dispatch` knows which methods a path takes.
  for (const method of METHODS) {
    if (!METHODS_WITH_BODY.has(method)) app.addHttpMethod(method, { overrideExisting: true })
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const streams = new Set<OpenStream>()
  app.all('/api/*', (request, reply) => forward(request, reply, { ...options, streams }))
  for (const { method, path, bytesMax } of largeBodies()) {
    const url = `${API_PREFIX}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`
    app.route({
      method,
      url,
      bodyLimit: bytesMax,
      handler: (request, reply) => forward(request, reply, { ...options, streams }),
    })
  }
  for (const path of OTHER_PATHS) {
    app.all(path, (request, reply) => forward(request, reply, { ...options, streams }))
  }
  if (options.consoleDir !== null)
    await app.register(fastifyStatic, {
      root: options.consoleDir,
      cacheControl: false,
      acceptRanges: false,
    })
  const onLoopback = options.host === 'localhost'
  await app.listen({ host: onLoopback ? '127.0.0.1' : options.host, port: options.port })
  const port = portOf(app.server)
  const ipv6 = onLoopback ? await listenOnIpv6(app, port, httpOptions(options)) : null
  const servers = ipv6 === null ? [app.server] : [app.server, ipv6]
  return {
    url: `${options.certificate ? 'https' : 'http'}://${inUrl(options.host)}:${port}`,
    useCertificate(pair) {
      for (const server of servers) replaceCertificate(server, pair)
    },
    async close(hurry) {
      endStreams([...streams].filter(({ isEndless }) => isEndless))
      const closing = [app.close(), ipv6 === null ? null : new Promise(resolve => ipv6.close(resolve))]
      await requestsFinished(Promise.all(closing), servers, { clock: options.clock, hurry })
    },
  }
}

function securityHeaders(request: FastifyRequest, { publicUrl = null, certificate }: ServerOptions) {
  const isLoopback = certificate && LOOPBACK.has(nameOf(request))
  return isReachedByHttps(publicUrl) && !isLoopback ? { ...SECURITY_HEADERS, ...HSTS } : SECURITY_HEADERS
}

const noSchemas = () => () => {
  throw new Error('no route has a JSON schema')
}

/** IPv6 addresses have brackets in URLs and in the `host` header. */
export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host)

const httpOptions = ({ requestMsMax = REQUEST_MS_MAX, certificate = null }: ServerOptions) => ({
  requestTimeout: requestMsMax,
  connectionsCheckingInterval: Math.ceil(requestMsMax / CHECKS_PER_TIMEOUT),
  keepAliveTimeout: KEEP_ALIVE_MS,
  certificate,
})

interface OpenStream {
  readonly gone: AbortController
  /** Event streams are endless; a file ends by itself. */
  readonly isEndless: boolean
  /** Reconnect delay of its client; set when the server closes. */
  reconnectMs: number | null
}

function endStreams(streams: readonly OpenStream[]): void {
  const { first, last } = RECONNECT_MS
  for (const [index, stream] of streams.entries()) {
    stream.reconnectMs = Math.round(first + (index / streams.length) * (last - first))
    stream.gone.abort(CLOSING)
  }
}

/** Closes idle connections until all requests are requestsFinished or time is up. */
async function requestsFinished(
  closing: Promise<unknown>,
  servers: readonly Server[],
  { clock, hurry }: { clock: Clock; hurry: AbortSignal | undefined },
): Promise<void> {
  const closed = new AbortController()
  const cutAll = () => {
    for (const server of servers) server.closeAllConnections()
  }
  const cutOff = clock.after(CLOSE_MS_MAX, cutAll)
  hurry?.addEventListener('abort', cutAll)
  if (hurry?.aborted) cutAll()
  void closing.finally(() => closed.abort()).catch(() => undefined)
  // A connection that was busy becomes idle after its response, and would stay open.
  while (!closed.signal.aborted) {
    for (const server of servers) server.closeIdleConnections()
    await clock.sleep(CLOSE_CHECK_MS, closed.signal)
  }
  cutOff()
  hurry?.removeEventListener('abort', cutAll)
  await closing
}

/** Most bodies are small, so large ones are accepted only on routes that need them. */
const largeBodies = () =>
  Object.values<RouteSpec>(ROUTES).flatMap(spec => {
    const { bytesMax } = bodyLimitsOf(spec)
    return bytesMax === DEFAULT_BODY_LIMITS.bytesMax ? [] : [{ ...spec, bytesMax }]
  })

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** `localhost` is ::1 or 127.0.0.1, so both are served where both exist. */
async function listenOnIpv6(app: FastifyInstance, port: number, options: HttpServerOptions): Promise<Server | null> {
  const ipv6 = createHttpServer(options, (request, response) => app.routing(request, response))
  const failure = await new Promise<NodeJS.ErrnoException | null>(resolve => {
    ipv6.once('error', resolve)
    ipv6.listen(port, '::1', () => resolve(null))
  })
  if (failure === null) return ipv6
  if (failure.code === 'EADDRNOTAVAIL' || failure.code === 'EAFNOSUPPORT') return null
  await app.close()
  throw failure
}

function guard(app: FastifyInstance, options: ServerOptions): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders(request, options))
    if (options.ending?.aborted) reply.header('connection', 'close')
    if (options.hostnames.includes(nameOf(request))) return
    await send(reply, problemResponse(wrongHost(options), request.url))
  })
  app.addHook('onSend', (_request, { raw }, payload, done) => {
    if (!raw.closed) cutOffInTime(raw, options.clock)
    done(null, payload)
  })
  app.setErrorHandler(async (error: Refusal, request, reply) => {
    await send(reply, problemResponse(problemOf(error, request), request.url))
  })
  app.setNotFoundHandler(async (request, reply) => {
    await send(reply, problemResponse(new ProblemError('not_found', 'nothing is here'), request.url))
  })
}

const nameOf = (request: FastifyRequest): string => request.hostname.replace(/:\d+$/, '')

function cutOffInTime(raw: ServerResponse, clock: Clock): void {
  const cancel = clock.after(ANSWER_MS_MAX, () => raw.destroy())
  raw.once('close', cancel)
}

type Refusal = Error & { readonly statusCode?: number; readonly code?: string }

/** Refusals of fastify as problems of the API. */
function problemOf(error: Refusal, { routeOptions }: FastifyRequest): ProblemError {
  const { statusCode = 500 } = error
  if (statusCode === 413) return bodyTooLarge(routeOptions.bodyLimit)
  if (statusCode === 415) return new ProblemError('unsupported_media_type', 'the type of the body cannot be read')
  if (statusCode >= 500) return new ProblemError('internal_error', 'something went wrong inside LCM')
  if (error.code?.startsWith('FST_ERR_CTP')) return new ProblemError('malformed_json', 'the body cannot be read')
  return new ProblemError('not_found', 'nothing is here')
}

const wrongHost = ({ hostnames }: ServerOptions) =>
  new ProblemError('wrong_host', `this server answers to ${hostnames.join(', ')} only`)

interface Forwarding extends ServerOptions {
  readonly streams: Set<OpenStream>
}

async function forward(request: FastifyRequest, reply: FastifyReply, options: Forwarding): Promise<void> {
  const gone = new AbortController()
  reply.raw.on('close', () => gone.abort(GONE))
  const body = textOf(request.body)
  if (body === undefined) {
    return send(reply, problemResponse(new ProblemError('malformed_json', 'the body is not valid UTF-8'), request.url))
  }
  const headers = headersOf(request)
  const response = await options.dispatch({
    method: request.method,
    url: request.url,
    headers,
    body,
    remote: clientAddress(request.ip, headers['x-forwarded-for'], options.trustedProxies ?? trustsNothing),
    signal: gone.signal,
  })
  if (response.bytes !== undefined) {
    reply.raw.once('close', response.bytes.done)
    return send(reply, response)
  }
  const chunks = response.file ?? response.body
  if (chunks === null || typeof chunks === 'string') return send(reply, response)
  const open: OpenStream = { gone, isEndless: response.file === undefined, reconnectMs: null }
  options.streams.add(open)
  try {
    await stream(reply, response, chunks, { ...options, gone })
    if (open.reconnectMs !== null) reply.raw.write(`retry: ${open.reconnectMs}\n\n`)
    // A partial file must not look complete, so its connection is destroyed; an event stream may end anywhere.
    if (response.file !== undefined && gone.signal.aborted) reply.raw.destroy()
  } catch (error) {
    if (response.file !== undefined) reply.raw.destroy()
    throw error
  } finally {
    options.streams.delete(open)
    reply.raw.end()
  }
}

const trustsNothing: TrustedProxies = () => false

/** Undefined for bytes that are not UTF-8. */
function textOf(body: unknown): string | null | undefined {
  if (!Buffer.isBuffer(body)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}

const headersOf = (request: FastifyRequest): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

async function send(reply: FastifyReply, response: ApiResponse): Promise<void> {
  await reply
    .code(response.status)
    .headers({ 'cache-control': 'no-store', ...response.headers, ...cookiesOf(response) })
    .send(response.bytes?.data ?? response.body ?? '')
}

const cookiesOf = ({ headers }: ApiResponse): Record<string, string[]> =>
  headers['set-cookie'] === undefined ? {} : { 'set-cookie': headers['set-cookie'].split('\n') }

/** Writes at the client's pace; a client that stops reading is disconnected instead of buffered. */
async function stream(
  reply: FastifyReply,
  response: ApiResponse,
  chunks: AsyncIterable<string | Uint8Array>,
  { gone, ...options }: ServerOptions & { gone: AbortController },
): Promise<void> {
  reply.hijack()
  const { raw } = reply
  raw.writeHead(response.status, {
    ...securityHeaders(reply.request, options),
    'cache-control': 'no-store',
    ...response.headers,
  })
  for await (const chunk of chunks) {
    if (gone.signal.aborted) break
    if (raw.write(chunk)) continue
    await drained(raw, options.clock)
  }
}

/** Waits until the client has read the buffer or is gone; disconnects it after a timeout. */
async function drained(raw: ServerResponse, clock: Clock): Promise<void> {
  const cutOff = clock.after(DRAIN_MS_MAX, () => raw.destroy())
  await new Promise<void>(resolve => {
    const done = () => {
      raw.off('drain', done)
      raw.off('close', done)
      resolve()
    }
    raw.on('drain', done)
    raw.on('close', done)
  })
  cutOff()
}
