import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import { type Compute, type DescribeResult, IDS_PER_CALL, LISTED_PER_CALL } from '../compute.ts'
import { CloudError, isRateLimited } from '../errors.ts'
import {
  CHANGE_LIMITS,
  LIMIT_OF_POWER_ACTION,
  type LimitedChange,
  type LimitedRead,
  READ_LIMITS,
} from './ec2-rate-limits.ts'
import { chunks } from './power-each.ts'
import { type LimitedRequest, type RateLimiter, rateLimiter } from './rate-limiter.ts'

export interface RateLimitedOptions {
  readonly clock: Clock
}

/**
 * Longest wait; a call that would wait longer is rejected at once. Power changes wait briefly, so that machines that
 * change together share a request.
 */
const WAIT_MS_MAX = { read: 20_000, power: 999 } as const

interface Region {
  readonly reads: RateLimiter<LimitedRead>
  readonly changes: RateLimiter<LimitedChange>
}

/**
 * Keeps an account within EC2's limits per region and action, so that EC2 hardly ever throttles. A change beyond the
 * limits is rejected with `throttled` and `retryAfterMs`, and its place in the queue is kept: its caller observes again
 * before it retries. A read waits, since it changes nothing. A power change waits too, but less than a second.
 */
export function rateLimitedCompute(compute: Compute, { clock }: RateLimitedOptions): Compute {
  const regions = new Map<string, Region>()
  const regionOf = (name: string): Region => {
    const region = regions.get(name) ?? openRegion(clock)
    regions.set(name, region)
    return region
  }
  let reads = 0
  function read<Answer>(
    { action, region, signal }: { action: LimitedRead; region: Region; signal: AbortSignal },
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    reads += 1
    const request = { action, resources: 0, ticket: `read ${reads}` }
    return runWhenAllowed({ clock, limiter: region.reads, waitMsMax: WAIT_MS_MAX.read, signal }, request, call)
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
      const parts = chunks([...new Set(ids)], IDS_PER_CALL.describe).map(part =>
        read({ action: 'describe', region, signal }, () => compute.describe(name, part, signal)),
      )
      return joined(await Promise.all(parts))
    },
    newestImage: (name, wanted, signal) =>
      read({ action: 'images', region: regionOf(name), signal }, () => compute.newestImage(name, wanted, signal)),
    imageIds: (name, pattern, signal) =>
      read({ action: 'images', region: regionOf(name), signal }, () => compute.imageIds(name, pattern, signal)),
    launch: (name, request, signal) =>
      regionOf(name).changes.run({ action: 'launch', resources: 1, ticket: request.client_token }, () =>
        compute.launch(name, request, signal),
      ),
    // Power calls arrive batched, so there is one caller for each action at a time.
    power: (name, action, ids, signal) =>
      runWhenAllowed(
        { clock, limiter: regionOf(name).changes, waitMsMax: WAIT_MS_MAX.power, signal },
        { action: LIMIT_OF_POWER_ACTION[action], resources: ids.length, ticket: action },
        () => compute.power(name, action, ids, signal),
      ),
    tag: (name, id, tags, signal) =>
      regionOf(name).changes.run({ action: 'tag', resources: 0, ticket: id }, () =>
        compute.tag(name, id, tags, signal),
      ),
  }
}

interface WaitOptions<Action extends string> {
  readonly clock: Clock
  readonly limiter: RateLimiter<Action>
  readonly waitMsMax: number
  readonly signal: AbortSignal
}

/** Retries with the same ticket until the limits allow the call. */
async function runWhenAllowed<Action extends string, Answer>(
  { clock, limiter, waitMsMax, signal }: WaitOptions<Action>,
  request: LimitedRequest<Action>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    for (;;) {
      if (signal.aborted) throw canceled(request.action)
      try {
        return await limiter.run(request, call)
      } catch (error) {
        if (!isRateLimited(error) || error.retryAfterMs > waitMsMax) throw error
        // Any number of calls may share a signal, and each removes its listener: a leak warning would be false.
        setMaxListeners(0, signal)
        await clock.sleep(error.retryAfterMs, signal)
      }
    }
  } finally {
    limiter.cancel(request)
  }
}

const openRegion = (clock: Clock): Region => ({
  reads: rateLimiter({ clock, limits: READ_LIMITS }),
  changes: rateLimiter({ clock, limits: CHANGE_LIMITS }),
})

const canceled = (action: string) =>
  new CloudError('transient', { code: 'AbortError', action, message: 'it was canceled before it was sent' })

const joined = (parts: readonly DescribeResult[]): DescribeResult => ({
  found: parts.flatMap(part => part.found),
  missing: parts.flatMap(part => part.missing),
})
