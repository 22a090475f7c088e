import type { EventEnvelope, SseMessage } from '@lcm/contract/events'
import { Problem } from '@lcm/contract/problems'
import { type ApiResponse, type Dispatch, EPOCH_HEADER, toEtag } from '@lcm/contract/route-spec'
import {
  type AnswerOf,
  API_PREFIX,
  type BodyInput,
  type ParamsOf,
  type QueryInput,
  ROUTES,
  type RouteName,
  type RouteSpec,
} from '@lcm/contract/routes'

/** The API rejected the request. `problem.code` is for programs, `message` for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** No response, a late one, or one that is not LCM's. The request may or may not have had its effect. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
  /** What to do; null if the error does not tell. */
  readonly advice: string | null

  constructor(message: string, { advice = null, ...options }: ErrorOptions & { advice?: string | null } = {}) {
    super(message, options)
    this.advice = advice
  }
}

export const isProblem = (error: unknown, ...codes: readonly string[]): error is ApiError =>
  error instanceof ApiError && codes.includes(error.problem.code)

/** Null for a missing resource. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading
  } catch (error) {
    if (isProblem(error, 'not_found')) return null
    throw error
  }
}

/** A large file is built before its first byte is sent. */
const FILE_TIMEOUT_MS = 5 * 60_000

type Needed<K extends string, T> = T extends undefined ? { readonly [P in K]?: undefined } : { readonly [P in K]: T }
type Params<N extends RouteName> = keyof ParamsOf<N> extends never ? { params?: undefined } : { params: ParamsOf<N> }
type Query<N extends RouteName> = QueryInput<N> extends undefined ? { query?: undefined } : { query?: QueryInput<N> }
type Call<N extends RouteName> = Params<N> &
  Query<N> &
  Needed<'body', BodyInput<N>> & {
    /** The version that this write is based on. */
    readonly ifMatch?: number
    /** The term that this write belongs to. */
    readonly epoch?: number
    readonly signal?: AbortSignal
  }

export interface PositionedEvent {
  /** Where to resume after this event; null for events that are not resumed. */
  readonly position: string | null
  readonly event: EventEnvelope
}

export interface Client {
  /**
   * Rejects with an ApiError when the API rejects the request, with an UnreachableError when it does not respond, and
   * with the signal's reason when the caller aborts.
   */
  call<N extends RouteName>(name: N, call: Call<N>): Promise<AnswerOf<N>>
  /** The file of a route, as a stream. It fails with an UnreachableError rather than end early. */
  download(name: 'createBackup', call: { readonly signal?: AbortSignal }): Promise<AsyncIterable<Uint8Array>>
  /** Follows changes from `after` (or from now on) until the stream or the signal ends. The caller reconnects. */
  events(follow: { after?: string; signal: AbortSignal }): AsyncGenerator<PositionedEvent>
}

/** The same client over a socket or directly on `dispatch`: only the transport differs. */
export function apiClient(transport: Dispatch, options: { token?: string } = {}): Client {
  const baseHeaders = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }

  async function send(route: RouteSpec, call: AnyCall): Promise<ApiResponse> {
    return transport({
      method: route.method,
      url: urlOf(route.path, call),
      headers: { ...baseHeaders, ...headersOf(call) },
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal: call.signal ?? new AbortController().signal,
      ...(call.timeoutMs === undefined ? {} : { timeoutMs: call.timeoutMs }),
    })
  }

  const client: Client = {
    async call(name, call) {
      const response = await send(ROUTES[name], call)
      const text = await textOf(response)
      if (response.status >= 400) throw new ApiError(problemIn(text, response.status))
      return text === '' ? null : understood(text)
    },
    async download(name, { signal }) {
      const response = await send(ROUTES[name], { signal, timeoutMs: FILE_TIMEOUT_MS })
      if (response.status >= 400) throw new ApiError(problemIn(await textOf(response), response.status))
      if (response.file === undefined) throw new UnreachableError('no file came')
      return response.file
    },
    async *events({ after, signal }) {
      const response = await send(ROUTES.events, {
        signal,
        headers: after === undefined ? {} : { 'last-event-id': after },
      })
      if (response.status >= 400) throw new ApiError(problemIn(await textOf(response), response.status))
      if (response.body === null || typeof response.body === 'string')
        throw new UnreachableError('no event stream came')
      for await (const message of readSse(response.body)) yield { position: message.id, event: eventIn(message.data) }
    },
  }
  return client
}

interface AnyCall {
  readonly params?: Readonly<Record<string, string>> | undefined
  readonly query?: unknown
  readonly body?: unknown
  readonly ifMatch?: number | undefined
  readonly epoch?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

function urlOf(path: string, call: AnyCall): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(call.params?.[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(name, String(value))
  return `${API_PREFIX}${filled}${query.size > 0 ? `?${query}` : ''}`
}

const headersOf = (call: AnyCall): Record<string, string> => ({
  ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
  ...(call.ifMatch === undefined ? {} : { 'if-match': toEtag(call.ifMatch) }),
  ...(call.epoch === undefined ? {} : { [EPOCH_HEADER]: String(call.epoch) }),
  ...call.headers,
})

async function textOf(response: ApiResponse): Promise<string> {
  if (response.body === null) return ''
  if (typeof response.body === 'string') return response.body
  let text = ''
  for await (const chunk of response.body) text += chunk
  return text
}

/** A 200 with another content type comes from a proxy, not from the API. */
function understood(text: string) {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new UnreachableError('what answered is not the LCM API', { cause })
  }
}

/** Callers switch on the event's type, so it must be a string. */
function eventIn(text: string): EventEnvelope {
  const event = understood(text)
  if (typeof event?.type === 'string') return event
  throw new UnreachableError('what streams is not the LCM API')
}

/** A proxy may respond with its own page: then only the status is known. */
function problemIn(text: string, status: number): Problem {
  try {
    return Problem.parse(JSON.parse(text))
  } catch {
    return {
      type: 'about:blank',
      title: 'Unexpected answer',
      status,
      detail: `unexpected answer with status ${status}`,
      code: 'unknown',
    }
  }
}

/** Several times the largest event. A longer one never ends, and must not fill the memory. */
const MESSAGE_CHARS_MAX = 32 * 1024 * 1024

/** Reads server-sent events from chunks that may be split anywhere. Comments and unknown fields are ignored. */
export async function* readSse(chunks: AsyncIterable<string>): AsyncGenerator<SseMessage> {
  let buffer = ''
  for await (const chunk of chunks) {
    buffer += chunk
    const blocks = buffer.split(/\r?\n\r?\n/)
    buffer = blocks.pop() ?? ''
    if (buffer.length > MESSAGE_CHARS_MAX) throw new UnreachableError('a message of the event stream never ends')
    for (const block of blocks) {
      const message = parseBlock(block)
      if (message) yield message
    }
  }
}

function parseBlock(block: string): SseMessage | null {
  let id: string | null = null
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('id:')) id = line.slice(3).trim()
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return data.length > 0 ? { id, data: data.join('\n') } : null
}
