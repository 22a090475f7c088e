import type { Clock } from '@lcm/runtime/clock'
import { type Compute, type DescribeResult, IDS_PER_CALL, LISTED_PER_CALL } from './compute.ts'
import { chunksOf } from './compute-power.ts'
import {
  CHANGE_LIMITS,
  LIMIT_OF_ACT,
  type LimitedChange,
  type LimitedRead,
  READ_LIMITS,
} from './rate-limited-actions.ts'
import { type Gate, openGate } from './rate-limited-gate.ts'

export interface RateLimitedOptions {
  readonly clock: Clock
}

const CHANGES_IN_FLIGHT_MAX = 8
const WAIT_MS_MAX = 20_000

interface Region {
  readonly reads: Gate<LimitedRead>
  readonly changes: Gate<LimitedChange>
}

/**
 * Keeps an account within what EC2 allows per region and action, so that it hardly ever has to say so. Changes that compete go
 * in the order terminate, stop, start, launch. When EC2 says `throttled` all the same, that action rests for everybody.
 * Who finds no room within twenty seconds gets `throttled` without anything having been sent.
 */
export function rateLimited(compute: Compute, { clock }: RateLimitedOptions): Compute {
  const regions = new Map<string, Region>()
  const regionOf = (name: string): Region => {
    const region = regions.get(name) ?? openRegion(clock)
    regions.set(name, region)
    return region
  }
  return {
    async list(name, filter, signal) {
      const { reads } = regionOf(name)
      const found = await reads.pass({ action: 'list', resources: 0, signal }, () => compute.list(name, filter, signal))
      reads.charge('list', Math.max(0, Math.ceil(found.length / LISTED_PER_CALL) - 1))
      return found
    },
    async describe(name, ids, signal) {
      const { reads } = regionOf(name)
      const parts = chunksOf([...new Set(ids)], IDS_PER_CALL.describe).map(part =>
        reads.pass({ action: 'describe', resources: 0, signal }, () => compute.describe(name, part, signal)),
      )
      return joined(await Promise.all(parts))
    },
    newestImage: (name, wanted, signal) =>
      regionOf(name).reads.pass({ action: 'images', resources: 0, signal }, () =>
        compute.newestImage(name, wanted, signal),
      ),
    imageIds: (name, pattern, signal) =>
      regionOf(name).reads.pass({ action: 'images', resources: 0, signal }, () =>
        compute.imageIds(name, pattern, signal),
      ),
    launch: (name, request, signal) =>
      regionOf(name).changes.pass({ action: 'launch', resources: 1, signal }, () =>
        compute.launch(name, request, signal),
      ),
    power: (name, act, ids, signal) =>
      regionOf(name).changes.pass({ action: LIMIT_OF_ACT[act], resources: ids.length, signal }, () =>
        compute.power(name, act, ids, signal),
      ),
  }
}

const openRegion = (clock: Clock): Region => ({
  reads: openGate({
    clock,
    limits: READ_LIMITS,
    inFlightMax: Number.POSITIVE_INFINITY,
    waitMsMax: WAIT_MS_MAX,
  }),
  changes: openGate({ clock, limits: CHANGE_LIMITS, inFlightMax: CHANGES_IN_FLIGHT_MAX, waitMsMax: WAIT_MS_MAX }),
})

const joined = (parts: readonly DescribeResult[]): DescribeResult => ({
  found: parts.flatMap(part => part.found),
  missing: parts.flatMap(part => part.missing),
})
