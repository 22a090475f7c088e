import type { Dispatch } from '@lcm/contract/route'
import type { Clock } from '@lcm/runtime/clock'

/** The `date` header has whole seconds, and a response takes time. */
const SKEW_MS_MAX = 2_000

/**
 * The time of whoever keeps it for all. Timeslots are made by the API's clock, so a controller that went by a clock of its own would
 * end sessions too early or too late when that is wrong. It starts from its own, goes on by the monotonic one, which nobody can
 * set, and is put right by the `date` of each answer when the two are apart.
 */
export function apiClock(own: Clock): { readonly clock: Clock; hearing(dispatch: Dispatch): Dispatch } {
  let base = own.now() - own.monotonic()
  const now = () => base + own.monotonic()

  function hear(date: string | undefined, tookMs: number): void {
    const dateMs = Date.parse(date ?? '') + 500
    const aheadMs = now() - dateMs
    // A slow response may be as old as it took, so a clock within that range may be right.
    if (aheadMs < -SKEW_MS_MAX || aheadMs > SKEW_MS_MAX + tookMs) base = dateMs - own.monotonic()
  }

  return {
    clock: { ...own, now },
    hearing: dispatch => async request => {
      const askedAt = own.monotonic()
      const response = await dispatch(request)
      hear(response.headers.date, own.monotonic() - askedAt)
      return response
    },
  }
}
