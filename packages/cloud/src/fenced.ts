import type { Compute } from './compute.ts'
import { NotLeadingError } from './errors.ts'

/**
 * Lets changes through only while `isHeld` answers true, asked as the last thing before the request is handed over. A process
 * that slept through its lease finds that out here. Reading is always allowed.
 */
export function fencedCompute(compute: Compute, isHeld: () => boolean): Compute {
  const check = (act: string): void => {
    if (!isHeld()) throw new NotLeadingError(`${act} was not sent: this instance leads no longer`)
  }
  return {
    ...compute,
    async launch(region, request, signal) {
      check('launch')
      return compute.launch(region, request, signal)
    },
    async power(region, act, instanceIds, signal) {
      check(act)
      return compute.power(region, act, instanceIds, signal)
    },
    async tag(region, instanceId, tags, signal) {
      check('tag')
      return compute.tag(region, instanceId, tags, signal)
    },
  }
}
