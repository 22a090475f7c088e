import { ANSWER_MS_MAX, type ApiRequest, type ApiResponse, type Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'
import { UnreachableError } from './client.ts'
import { tlsFailureIn } from './tls-failure.ts'

const HEAD_MS_MAX = ANSWER_MS_MAX + 5_000
const BODY_MS_MAX = 60_000

/** The part of fetch that a transport needs. */
export type Fetch = (
  url: URL,
  init: Readonly<Pick<ApiRequest, 'method' | 'headers' | 'body' | 'signal'>>,
) => Promise<Pick<Response, 'status' | 'headers' | 'body' | 'text'>>

export interface TransportOptions {
  readonly baseUrl: string
  readonly clock: Clock
  /** The global one, unless the server needs another. */
  readonly fetch?: Fetch | undefined
}

/**
 * Requests over fetch, in Node and in the browser. The head and a body that is not a stream have a deadline each; the
 * reader of a stream decides how long it lives.
 */
export function httpTransport(options: TransportOptions): Dispatch {
  return async request => {
    const controller = new AbortController()
    const giveUp = () => controller.abort()
    request.signal.addEventListener('abort', giveUp)
    if (request.signal.aborted) giveUp()
    let cancelDeadline = options.clock.after(request.timeoutMs ?? HEAD_MS_MAX, giveUp)
    try {
      const response = await (options.fetch ?? fetch)(new URL(request.url, options.baseUrl), {
        method: request.method,
        headers: request.headers,
        body: request.body,
        signal: controller.signal,
      })
      cancelDeadline()
      cancelDeadline = options.clock.after(BODY_MS_MAX, giveUp)
      return await toApiResponse(response, () => request.signal.removeEventListener('abort', giveUp))
    } catch (error) {
      request.signal.removeEventListener('abort', giveUp)
      request.signal.throwIfAborted()
      throw unanswered(options.baseUrl, error)
    } finally {
      cancelDeadline()
    }
  }
}

function unanswered(url: string, cause: unknown): UnreachableError {
  const tls = tlsFailureIn(cause)
  return new UnreachableError(tls?.message(url) ?? `${url} does not answer`, { cause, advice: tls?.advice ?? null })
}

async function toApiResponse(response: Awaited<ReturnType<Fetch>>, release: () => void): Promise<ApiResponse> {
  const headers = Object.fromEntries(response.headers)
  const { status, body: stream } = response
  if (headers['content-type']?.startsWith('text/event-stream') && stream)
    return { status, headers, body: decoded(chunksOf(stream, release)) }
  if (headers['content-disposition']?.startsWith('attachment') && stream)
    return { status, headers, body: null, file: chunksOf(stream, release) }
  const body = await response.text()
  release()
  return { status, headers, body }
}

async function* decoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
}

async function* chunksOf(stream: ReadableStream<Uint8Array>, release: () => void): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } catch (error) {
    throw new UnreachableError('the stream broke', { cause: error })
  } finally {
    release()
    reader.cancel().catch(() => undefined)
  }
}
