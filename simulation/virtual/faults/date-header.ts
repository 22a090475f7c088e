import type { Dispatch } from '@lcm/contract/wire'
import type { Clock } from '@lcm/runtime/clock'

/** Answers as they come by HTTP: each says in whole seconds when it was sent. */
export const withDateHeader =
  (dispatch: Dispatch, clock: Pick<Clock, 'now'>): Dispatch =>
  async request => {
    const response = await dispatch(request)
    return { ...response, headers: { ...response.headers, date: new Date(clock.now()).toUTCString() } }
  }
