import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import {
  type Compute,
  chunks,
  type DescribeResult,
  IDS_PER_CALL,
  LISTED_PER_CALL,
  type PowerAction,
} from '../compute.ts'
import { CloudError, isRateLimited } from '../errors.ts'
import {
  type ActionLimits,
  type BucketLimit,
  type LimitedRequest,
  type RateLimiter,
  rateLimiter,
} from './rate-limiter.ts'

interface RateLimitedOptions {
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

type LimitedRead = 'list' | 'describe' | 'images'
type LimitedChange = 'terminate' | 'stop' | 'start' | 'launch' | 'tag'

/** Other tools use the account too, so a fifth is left to them. */
const SHARE = 0.8

const bucket = (burst: number, perSecond: number): BucketLimit => ({
  capacity: burst * SHARE,
  perSecond: perSecond * SHARE,
})

/** EC2's published limits for an account in a region. A list has a filter; a describe by id has none. */
const READ_LIMITS: Readonly<Record<LimitedRead, ActionLimits>> = {
  list: { requests: bucket(100, 20), resources: null, inFlightMax: null },
  describe: { requests: bucket(50, 10), resources: null, inFlightMax: null },
  images: { requests: bucket(100, 20), resources: null, inFlightMax: null },
}

/** Separate limits per action, so a stop never waits for a launch. */
const CHANGE_LIMITS: Readonly<Record<LimitedChange, ActionLimits>> = {
  terminate: { requests: bucket(100, 5), resources: bucket(1000, 20), inFlightMax: null },
  stop: { requests: bucket(50, 5), resources: bucket(1000, 20), inFlightMax: null },
  start: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: null },
  launch: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: 8 },
  tag: { requests: bucket(100, 10), resources: null, inFlightMax: null },
}

const LIMIT_OF_POWER_ACTION: Readonly<Record<PowerAction, LimitedChange>> = {
  start: 'start',
  stop: 'stop',
  force_stop: 'stop',
  terminate: 'terminate',
}
