import { CloudError } from '@lcm/cloud/errors'
import type { Clock } from '@lcm/runtime/clock'
import { setBounded } from './bounded-map.ts'

const FIRST_MS = 2_000
const LONGEST_MS = 60_000

/**
 * Pauses all calls to a server that requested it. Callers do not wait here: they get an error with the time to retry.
 */
export interface RetryAfterPauses {
  /** Throws during a pause. */
  refuseDuring(server: string, action: string): void
  /** Each pause in a row is twice as long, unless the server names a time. */
  begin(server: string, retryAfter: string | null): void
  /** The server has responded, so the next pause is short again. */
  end(server: string): void
}

export function retryAfterPauses(clock: Clock): RetryAfterPauses {
  const pauses = new Map<string, { readonly untilMs: number; readonly lengthMs: number }>()
  return {
    refuseDuring(server, action) {
      const leftMs = (pauses.get(server)?.untilMs ?? 0) - clock.monotonic()
      if (leftMs <= 0) return
      const message = `the server is rate limited; retry in ${Math.ceil(leftMs / 1000)} s`
      throw new CloudError('throttled', { code: 'Paused', action, message })
    },
    begin(server, retryAfter) {
      const current = pauses.get(server)
      const nowMs = clock.monotonic()
      // Calls that were in progress together are rejected together, which counts once.
      if (current && current.untilMs > nowMs) return
      const lengthMs = Math.min(askedMs(retryAfter) ?? (current ? 2 * current.lengthMs : FIRST_MS), LONGEST_MS)
      setBounded(pauses, server, { untilMs: nowMs + lengthMs, lengthMs })
    },
    end(server) {
      // A response to a request from before the pause does not end it.
      if ((pauses.get(server)?.untilMs ?? 0) <= clock.monotonic()) pauses.delete(server)
    },
  }
}

function askedMs(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Math.max(1, Number(retryAfter)) * 1000 : null
}
