import type { Compute } from './compute.ts'

/** Leadership was lost between the decision and the act; nothing was sent. */
export class NotLeadingError extends Error {
  override readonly name = 'NotLeadingError'
}

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
    async start(region, instanceId, signal) {
      check('start')
      return compute.start(region, instanceId, signal)
    },
    async stop(region, request, signal) {
      check('stop')
      return compute.stop(region, request, signal)
    },
    async terminate(region, instanceId, signal) {
      check('terminate')
      return compute.terminate(region, instanceId, signal)
    },
  }
}
