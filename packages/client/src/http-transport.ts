import type { ApiResponse, Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'
import { UnreachableError } from './api-error.ts'

const ANSWER_MS_MAX = 15_000

/** Requests over fetch, in Node and in the browser. The deadline covers the wait for the answer's head, not a stream's life. */
export function httpTransport(options: { baseUrl: string; clock: Clock }): Dispatch {
  return async request => {
    const controller = new AbortController()
    const giveUp = () => controller.abort()
    request.signal.addEventListener('abort', giveUp)
    if (request.signal.aborted) giveUp()
    const cancelDeadline = options.clock.after(ANSWER_MS_MAX, giveUp)
    try {
      const response = await fetch(new URL(request.url, options.baseUrl), {
        method: request.method,
        headers: request.headers,
        body: request.body,
        signal: controller.signal,
      })
      return await toApiResponse(response, () => request.signal.removeEventListener('abort', giveUp))
    } catch (error) {
      request.signal.removeEventListener('abort', giveUp)
      request.signal.throwIfAborted()
      throw new UnreachableError(`${options.baseUrl} does not answer`, { cause: error })
    } finally {
      cancelDeadline()
    }
  }
}

async function toApiResponse(response: Response, release: () => void): Promise<ApiResponse> {
  const headers = Object.fromEntries(response.headers)
  if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
    return { status: response.status, headers, body: decoded(response.body, release) }
  }
  const body = await response.text()
  release()
  return { status: response.status, headers, body }
}

async function* decoded(stream: ReadableStream<Uint8Array>, release: () => void): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } catch (error) {
    throw new UnreachableError('the stream broke', { cause: error })
  } finally {
    release()
    reader.cancel().catch(() => undefined)
  }
}
