import type { Compute } from '@lcm/cloud/compute'
import { type AccountCircuitBreaker, accountCircuitBreaker } from '@lcm/cloud/compute-wrappers/account-circuit-breaker'
import { type BatchedCompute, batchedCompute, imageCache } from '@lcm/cloud/compute-wrappers/batched-compute'
import { rateLimitedCompute } from '@lcm/cloud/compute-wrappers/rate-limited-compute'
import { NotLeadingError } from '@lcm/cloud/errors'
import type { Election, Leadership } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/**
 * The machines as a leader may use them: calls are batched, images cached, then calls wait for the rate limit, and leadership is
 * checked last. Use the election that comes with them, since they read leadership from it.
 */
export function leaderOnlyCompute<E extends Election>(parts: {
  compute: Compute
  election: E
  clock: Clock
}): { readonly machines: BatchedCompute; readonly account: AccountCircuitBreaker; readonly election: E } {
  const { election, clock } = parts
  const account = accountCircuitBreaker(clock)
  let current: Leadership | null = null
  const fenced = fencedCompute(parts.compute, () => current?.isHeld() ?? false)
  return {
    machines: account.guardCompute(batchedCompute(imageCache(rateLimitedCompute(fenced, { clock }), clock))),
    account,
    election: {
      ...election,
      async campaign(signal) {
        current = await election.campaign(signal)
        return current
      },
    },
  }
}

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
