import { UnreachableError } from '@lcm/client/client'
import { writeSse } from '@lcm/contract/events'
import type { ApiRequest, ApiResponse, Dispatch } from '@lcm/contract/route-spec'
import { API_PREFIX, ROUTES } from '@lcm/contract/routes'
import { linkedAbort, type Pipe, pipe } from '@lcm/runtime'

/** Event streams behind an unreliable network. */
export interface FaultyStreams {
  readonly dispatch: Dispatch
  /** Ends the open streams; with an error when `isAbrupt`. */
  breakStreams(isAbrupt?: boolean): void
  /** While muted, streams open but bring no event of the API. */
  mute(isMuted: boolean): void
  /** Sends an event on the open streams, true or not. */
  say(event: object, position?: string): void
  /** Number of streams that were opened so far. */
  opened(): number
}

const EVENTS_URL = `${API_PREFIX}${ROUTES.events.path}`

export function faultyStreams(inner: Dispatch): FaultyStreams {
  const streams = new Set<Pipe<string>>()
  let isMuted = false
  let opened = 0

  function follow(body: AsyncIterable<string>, signal: AbortSignal, close: () => void): AsyncIterable<string> {
    const out = pipe<string>({
      signal,
      onClose() {
        streams.delete(out)
        close()
      },
    })
    streams.add(out)
    opened += 1
    const pump = async () => {
      for await (const text of body) if (!isMuted) out.push(text)
    }
    pump().then(() => out.end(), out.end)
    return out
  }

  async function dispatch(request: ApiRequest): Promise<ApiResponse> {
    if (!request.url.startsWith(EVENTS_URL)) return inner(request)
    const lifetime = linkedAbort(request.signal)
    const response = await inner({ ...request, signal: lifetime.signal })
    const { body } = response
    if (body === null || typeof body === 'string') {
      lifetime.unlink()
      return response
    }
    return { ...response, body: follow(body, request.signal, () => lifetime.abort()) }
  }

  return {
    dispatch,
    breakStreams(isAbrupt = false) {
      for (const stream of streams) stream.end(isAbrupt ? new UnreachableError('connection reset') : undefined)
    },
    mute(isSo) {
      isMuted = isSo
    },
    say(event, position) {
      for (const stream of streams) stream.push(writeSse({ id: position ?? null, data: JSON.stringify(event) }))
    },
    opened: () => opened,
  }
}
