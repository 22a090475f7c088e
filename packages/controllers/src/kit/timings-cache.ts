import type { Client } from '@lcm/client/client'
import { readTimings } from '@lcm/client/read-timings'
import type { Timings } from '@lcm/domain/calendar/timings'
import type { Clock } from '@lcm/runtime/clock'

/** One more measured duration changes little. */
const FRESH_MS = 60_000

export interface TimingsCache {
  /** Rejects when timings were never read; later the last known ones are used while the API is down. */
  read(signal: AbortSignal): Promise<Timings>
}

export function timingsCache({ client, clock }: { client: Client; clock: Clock }): TimingsCache {
  let known: { readonly atMs: number; readonly timings: Timings } | null = null
  return {
    async read(signal) {
      if (known !== null && clock.monotonic() - known.atMs < FRESH_MS) return known.timings
      try {
        known = { atMs: clock.monotonic(), timings: await readTimings(client, signal) }
      } catch (error) {
        if (known === null) throw error
      }
      return known.timings
    },
  }
}
