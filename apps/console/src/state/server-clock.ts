import type { Dispatch } from '@lcm/contract/wire'
import { type Instant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { Signal } from '@preact/signals'

export interface ServerClock {
  /** The server's time, as far as it is known. */
  now(): number
  /** The server said what time it is. */
  sync(at: Instant): void
  /** Reads the date of every answer, too: where no events come, nothing else tells the time. */
  observing(transport: Dispatch): Dispatch
}

/** A date of HTTP is of whole seconds, and an answer may have been under way for a while: below this it teaches nothing. */
const ROUGH_MS = 3_000

/** Whatever is shown beside the server's own times has to be by the same clock. */
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
