import { type AccountTroubles, accountTroubles } from '@lcm/cloud/account-circuit-breaker'
import { gathered, type Machines } from '@lcm/cloud/batched-compute'
import { cachedImages } from '@lcm/cloud/cached-images'
import type { Compute } from '@lcm/cloud/compute'
import { fencedCompute } from '@lcm/cloud/fenced'
import { rateLimited } from '@lcm/cloud/rate-limited'
import type { Election, Leadership } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'

/**
 * The machines as a leader may use them: calls are gathered, images cached, then calls wait for their turn, and only then is it
 * asked whether this instance still leads. Use the election that comes with them, since the machines learn from it who does.
 */
export function leaderOnlyCompute<E extends Election>(parts: {
  compute: Compute
  election: E
  clock: Clock
}): { readonly machines: Machines; readonly account: AccountTroubles; readonly election: E } {
  const { election, clock } = parts
  const account = accountTroubles(clock)
  let current: Leadership | null = null
  const fenced = fencedCompute(parts.compute, () => current?.isHeld() ?? false)
  return {
    machines: account.guard(gathered(cachedImages(rateLimited(fenced, { clock }), clock))),
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
