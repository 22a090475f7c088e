import { systemClock } from '@lcm/runtime/clock'

const POLL_MS = 25

/** Polls a condition, and measures the longest time that it did not hold, up to the next poll that finds it. */
export interface DowntimeGauge {
  readonly longestMs: number
  stop(): Promise<void>
}

export function downtimeGauge(holds: () => Promise<boolean>, everyMs = POLL_MS): DowntimeGauge {
  const stopping = new AbortController()
  let heldAt: number | null = null
  let longest = 0
  const startedAt = systemClock.monotonic()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (await holds()) {
        const now = systemClock.monotonic()
        longest = Math.max(longest, now - (heldAt ?? now))
        heldAt = now
      }
      await systemClock.sleep(everyMs, stopping.signal)
    }
  }
  const ended = run()
  return {
    get longestMs() {
      return Math.round(longest)
    },
    async stop() {
      stopping.abort()
      await ended
      // A condition that does not hold any more, or never did, counts too.
      longest = Math.max(longest, systemClock.monotonic() - (heldAt ?? startedAt) - everyMs)
    },
  }
}
