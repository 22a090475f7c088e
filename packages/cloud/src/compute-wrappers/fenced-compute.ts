import type { Compute } from '../compute.ts'
import { NotLeadingError } from '../errors.ts'

/**
 * Sends changes only while `isHeld` returns true, checked immediately before the request. A process that slept through
 * its lease notices it here. Reads are always allowed.
 */
export function fencedCompute(compute: Compute, isHeld: () => boolean): Compute {
  const check = (action: string): void => {
    if (!isHeld()) throw new NotLeadingError(`${action} was not sent: this instance no longer leads`)
  }
  return {
    ...compute,
    async launch(region, request, signal) {
      check('launch')
      return compute.launch(region, request, signal)
    },
    async power(region, action, instanceIds, signal) {
      check(action)
      return compute.power(region, action, instanceIds, signal)
    },
    async tag(region, instanceId, tags, signal) {
      check('tag')
      return compute.tag(region, instanceId, tags, signal)
    },
  }
}
