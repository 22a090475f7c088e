import { CloudError } from '@lcm/cloud/errors'
import type { Clock } from '@lcm/runtime/clock'
import { setBounded } from './bounded-map.ts'

const FIRST_MS = 2_000
const LONGEST_MS = 60_000

/** Servers that have asked for patience are left alone by everybody. Nothing waits here: callers are told to come later. */
export interface RetryAfterPauses {
  /** Throws while the server is to be left alone. */
  refuseDuring(server: string, action: string): void
  /** Each pause in a row is twice as long, unless the server names a time. */
  begin(server: string, retryAfter: string | null): void
  /** It has answered, so the next pause is a short one again. */
  end(server: string): void
}

export function retryAfterPauses(clock: Clock): RetryAfterPauses {
  const pauses = new Map<string, { readonly untilMs: number; readonly lengthMs: number }>()
  return {
    refuseDuring(server, action) {
      const leftMs = (pauses.get(server)?.untilMs ?? 0) - clock.monotonic()
      if (leftMs <= 0) return
      const message = `the server asked for patience; ${Math.ceil(leftMs / 1000)} s are left`
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
      // An answer that was under way before the pause does not end it.
      if ((pauses.get(server)?.untilMs ?? 0) <= clock.monotonic()) pauses.delete(server)
    },
  }
}

function askedMs(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,6}$/.test(retryAfter) ? Math.max(1, Number(retryAfter)) * 1000 : null
}
