import type { Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'

/** The `date` header has whole seconds, and a response takes time. */
const SKEW_MS_MAX = 2_000

/**
 * A clock that follows the API. Timeslots use the API's time, so a controller with a wrong clock of its own would end sessions too
 * early or too late. It starts with the wall clock, continues with the monotonic one, and is corrected by the `date` header of a
 * response when the two differ.
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
