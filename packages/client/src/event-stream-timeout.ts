import type { Clock } from '@lcm/runtime/clock'
import { type Client, type PositionedEvent, UnreachableError } from './client.ts'

export interface SilenceLimits {
  readonly clock: Clock
  /** A stream begins with a heartbeat: one that does not is dead, or not LCM's. */
  readonly firstMs: number
  readonly betweenMs: number
}

/** Events until the stream or the signal ends. A silent stream rejects, even if TCP is still connected. */
export async function* eventsUnlessSilent(
  client: Client,
  follow: { readonly after: string; readonly signal: AbortSignal },
  { clock, firstMs, betweenMs }: SilenceLimits,
): AsyncGenerator<PositionedEvent> {
  const attempt = new AbortController()
  const stop = () => attempt.abort()
  const giveUp = () => attempt.abort(new UnreachableError('the event stream fell silent'))
  let cancel = clock.after(firstMs, giveUp)
  follow.signal.addEventListener('abort', stop)
  try {
    for await (const message of client.events({ after: follow.after, signal: attempt.signal })) {
      cancel()
      yield message
      cancel = clock.after(betweenMs, giveUp)
    }
    if (!follow.signal.aborted) attempt.signal.throwIfAborted()
  } finally {
    cancel()
    follow.signal.removeEventListener('abort', stop)
    stop()
  }
}
