import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import { type Compute, type DescribeResult, IDS_PER_CALL, LISTED_PER_CALL } from './compute.ts'
import { chunksOf } from './compute-power.ts'
import { CloudError } from './errors.ts'
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

/** A read that would have to wait longer is refused at once. */
const READ_WAIT_MS_MAX = 20_000

interface Region {
  readonly reads: Gate<LimitedRead>
  readonly changes: Gate<LimitedChange>
}

/**
 * Keeps an account within what EC2 allows per region and action, so that EC2 hardly ever has to refuse. A change that the limits
 * do not allow now is refused with `throttled` and `retryAfterMs`, and its turn is kept: its caller looks at the world again
 * before it comes back. A read waits, since it decides nothing.
 */
export function rateLimited(compute: Compute, { clock }: RateLimitedOptions): Compute {
  const regions = new Map<string, Region>()
  const regionOf = (name: string): Region => {
    const region = regions.get(name) ?? openRegion(clock)
    regions.set(name, region)
    return region
  }
  let reads = 0
  /** Asks again with the same ticket until the limits allow it. */
  async function read<Answer>(
    { action, region, signal }: { action: LimitedRead; region: Region; signal: AbortSignal },
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    reads += 1
    const request = { action, resources: 0, ticket: `read ${reads}` }
    for (;;) {
      if (signal.aborted) throw cancelled(action)
      try {
        return await region.reads.pass(request, call)
      } catch (error) {
        const waitMs = error instanceof CloudError ? error.retryAfterMs : null
        if (waitMs === null || waitMs > READ_WAIT_MS_MAX) throw error
        // Any number of reads may share a signal, and each takes its listener off again: a warning of a leak would be false.
        setMaxListeners(0, signal)
        await clock.sleep(waitMs, signal)
      }
    }
  }
  return {
    async list(name, filter, signal) {
      const region = regionOf(name)
      const found = await read({ action: 'list', region, signal }, () => compute.list(name, filter, signal))
      region.reads.charge('list', Math.max(0, Math.ceil(found.length / LISTED_PER_CALL) - 1))
      return found
    },
    async describe(name, ids, signal) {
      const region = regionOf(name)
      const parts = chunksOf([...new Set(ids)], IDS_PER_CALL.describe).map(part =>
        read({ action: 'describe', region, signal }, () => compute.describe(name, part, signal)),
      )
      return joined(await Promise.all(parts))
    },
    newestImage: (name, wanted, signal) =>
      read({ action: 'images', region: regionOf(name), signal }, () => compute.newestImage(name, wanted, signal)),
    imageIds: (name, pattern, signal) =>
      read({ action: 'images', region: regionOf(name), signal }, () => compute.imageIds(name, pattern, signal)),
    launch: (name, request, signal) =>
      regionOf(name).changes.pass({ action: 'launch', resources: 1, ticket: request.client_token }, () =>
        compute.launch(name, request, signal),
      ),
    // Calls about one machine are gathered before they come here, so there is one caller for each act at a time.
    power: (name, act, ids, signal) =>
      regionOf(name).changes.pass({ action: LIMIT_OF_ACT[act], resources: ids.length, ticket: act }, () =>
        compute.power(name, act, ids, signal),
      ),
    tag: (name, id, tags, signal) =>
      regionOf(name).changes.pass({ action: 'tag', resources: 0, ticket: id }, () =>
        compute.tag(name, id, tags, signal),
      ),
  }
}

const openRegion = (clock: Clock): Region => ({
  reads: openGate({ clock, limits: READ_LIMITS }),
  changes: openGate({ clock, limits: CHANGE_LIMITS }),
})

const cancelled = (action: string) =>
  new CloudError('transient', { code: 'AbortError', action, message: 'it was cancelled before it was sent' })

const joined = (parts: readonly DescribeResult[]): DescribeResult => ({
  found: parts.flatMap(part => part.found),
  missing: parts.flatMap(part => part.missing),
})
