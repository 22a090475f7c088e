import type { Dispatch } from '@lcm/contract/route-spec'
import type { Clock } from '@lcm/runtime/clock'

/** Adds the HTTP `Date` header, in whole seconds. */
export const withDateHeader =
  (dispatch: Dispatch, clock: Pick<Clock, 'now'>): Dispatch =>
  async request => {
    const response = await dispatch(request)
    return { ...response, headers: { ...response.headers, date: new Date(clock.now()).toUTCString() } }
  }
