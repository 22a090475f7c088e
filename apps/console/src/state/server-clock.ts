import type { Dispatch } from '@lcm/contract/route-spec'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Signal } from '@preact/signals'

export interface ServerClock {
  /** Best estimate of the server's time. */
  now(): number
  /** Takes the time from a heartbeat. */
  sync(at: Instant): void
  /** Reads the Date header of every response: without events it is the only source. */
  observing(transport: Dispatch): Dispatch
}

/** HTTP dates have whole seconds, plus network latency: smaller differences are ignored. */
const ROUGH_MS = 3_000

/** Ages and countdowns must use the same clock as the server's timestamps. */
export function serverClock(clock: Clock, skewMs: Signal<number>): ServerClock {
  const now = () => clock.now() + skewMs.peek()
  return {
    now,
    sync(at) {
      skewMs.value = toMs(at) - clock.now()
    },
    observing: transport => async request => {
      const response = await transport(request)
      const dateMs = Date.parse(response.headers.date ?? '')
      if (Math.abs(dateMs - now()) > ROUGH_MS) skewMs.value = dateMs - clock.now()
      return response
    },
  }
}
