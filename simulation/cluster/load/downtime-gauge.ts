import { systemClock } from '@lcm/runtime/clock'

const LOOK_EVERY_MS = 25

/** Looks again and again whether something holds, and remembers the longest time between two looks that found it so. */
export interface DowntimeGauge {
  readonly longestMs: number
  stop(): Promise<void>
}

export function downtimeGauge(holds: () => Promise<boolean>, everyMs = LOOK_EVERY_MS): DowntimeGauge {
  const stopping = new AbortController()
  let heldAt: number | null = null
  let longest = 0

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
    },
  }
}
