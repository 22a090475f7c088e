import type { Client, Dispatcher } from 'undici'
import type { TlsConnection } from './tls-connection.ts'

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Maximum size of the response body. */
  readonly bytesMax: number
}

export interface HttpResponse {
  readonly status: number
  /** Without parameters, in lower case; empty without a header. */
  readonly contentType: string
  readonly retryAfter: string | null
  /** Null when the bytes are not UTF-8. */
  readonly text: string | null
}

/** The response violates HTTP or our limits. */
export class InvalidResponse extends Error {
  override readonly name = 'AnswerRefused'
  readonly code = 'MalformedAnswer'
}

export type OpenSocket = () => ReturnType<TlsConnection['open']>
export type NewHttpClient = (origin: string, open: OpenSocket) => Client

/** Clients of one connection at a time, opened by `open`. Deadlines are the caller's alone, so undici's own are off. */
export async function loadHttpClient(): Promise<NewHttpClient> {
  const { Client } = await import('undici')
  return (origin, open) =>
    new Client(origin, {
      // undici ignores a connector that calls back synchronously.
      connect: (_options, callback) => {
        open().then(
          socket => callback(null, socket),
          (error: Error) => callback(error, null),
        )
      },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    })
}

/** Longer than we keep idle connections; a shorter time of the server takes precedence. */
const KEEP_ALIVE_MS = 60_000

/** Redirects are not followed: they are returned like other responses. */
export async function sendRequest(client: Client, request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
  const { method, path, body, bytesMax } = request
  const headers = { ...request.headers, 'accept-encoding': 'identity' }
  const response = await client.request({ method, path, headers, body, signal })
  const bytes = await bytesOf(response, bytesMax)
  return {
    status: response.statusCode,
    contentType: (headerOf(response, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '',
    retryAfter: headerOf(response, 'retry-after'),
    text: decoded(bytes),
  }
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}

async function bytesOf(response: Dispatcher.ResponseData, bytesMax: number): Promise<Buffer> {
  const encoding = headerOf(response, 'content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    response.body.on('error', ignored).destroy()
    throw new InvalidResponse('the answer is encoded, which was not asked for')
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response.body) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new InvalidResponse(`the answer is longer than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const ignored = () => undefined

function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
