import type { Client } from '@lcm/client/client'
import { eventsUnlessSilent } from '@lcm/client/event-stream-timeout'
import { type EventEnvelope, HEARTBEAT_MS } from '@lcm/contract/events'
import type { Clock } from '@lcm/runtime/clock'
import { isPassing } from './cli-error.ts'

/**
 * `refresh`: known data may be stale, so read it again. Sent first, after every broken stream and after a reset.
 * `broken`: the stream ended and will be reopened shortly.
 */
export type Notice =
  | { readonly kind: 'refresh' }
  | { readonly kind: 'broken' }
  | { readonly kind: 'event'; readonly event: EventEnvelope }

export interface FollowOptions {
  readonly client: Client
  readonly clock: Clock
  readonly signal: AbortSignal
  /** The stream position to start after; without it, only new events are delivered. */
  readonly after?: string
}

export const RETRY_MS = 2_000
/** A stream without a heartbeat for this long is treated as broken. */
const SILENCE_MS_MAX = 3 * HEARTBEAT_MS

/** Follows every change until the signal aborts, across broken streams and API restarts. Rejects only if the API denies access. */
export async function* follow(options: FollowOptions): AsyncGenerator<Notice> {
  const { client, clock, signal } = options
  const silence = { clock, firstMs: SILENCE_MS_MAX, betweenMs: SILENCE_MS_MAX }
  let position: string | null = options.after ?? null
  while (!signal.aborted) {
    try {
      position ??= await positionNow(client, signal)
      yield { kind: 'refresh' }
      for await (const message of eventsUnlessSilent(client, { after: position, signal }, silence)) {
        position = message.event.type === 'reset' ? null : (message.position ?? position)
        if (message.event.type !== 'heartbeat') yield { kind: 'event', event: message.event }
        if (position === null) break
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
      if (position === null) yield { kind: 'refresh' }
    }
    if (signal.aborted) return
    if (position !== null) yield { kind: 'broken' }
    await clock.sleep(RETRY_MS, signal)
  }
}

/** The current stream position. Anything read after this call is at least as new. */
export async function positionNow(client: Client, signal: AbortSignal): Promise<string> {
  const { revision } = await client.call('listWorkers', { query: { limit: 1 }, signal })
  return revision
}
