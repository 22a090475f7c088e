import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import { type Compute, type DescribeResult, IDS_PER_CALL, LISTED_PER_CALL } from './compute.ts'
import { chunksOf } from './compute-power.ts'
import { CloudError, isNotNow } from './errors.ts'
import {
  CHANGE_LIMITS,
  LIMIT_OF_ACT,
  type LimitedChange,
  type LimitedRead,
  READ_LIMITS,
} from './rate-limited-actions.ts'
import { type Gate, openGate, type Passing } from './rate-limited-gate.ts'

export interface RateLimitedOptions {
  readonly clock: Clock
}

/** A call that would have to wait longer is refused at once. Machines that change together gather while the first of them waits. */
const WAIT_MS_MAX = { read: 20_000, power: 999 } as const

interface Region {
  readonly reads: Gate<LimitedRead>
  readonly changes: Gate<LimitedChange>
}

/**
 * Keeps an account within what EC2 allows per region and action, so that EC2 hardly ever has to refuse. A change that the limits
 * do not allow now is refused with `throttled` and `retryAfterMs`, and its turn is kept: its caller looks at the world again
 * before it comes back. A read waits, since it decides nothing. So does a change of power, but less than a second.
 */
export function rateLimited(compute: Compute, { clock }: RateLimitedOptions): Compute {
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
    return waiting({ clock, gate: region.reads, waitMsMax: WAIT_MS_MAX.read, signal }, request, call)
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
      waiting(
        { clock, gate: regionOf(name).changes, waitMsMax: WAIT_MS_MAX.power, signal },
        { action: LIMIT_OF_ACT[act], resources: ids.length, ticket: act },
        () => compute.power(name, act, ids, signal),
      ),
    tag: (name, id, tags, signal) =>
      regionOf(name).changes.pass({ action: 'tag', resources: 0, ticket: id }, () =>
        compute.tag(name, id, tags, signal),
      ),
  }
}

interface Waiting<Action extends string> {
  readonly clock: Clock
  readonly gate: Gate<Action>
  readonly waitMsMax: number
  readonly signal: AbortSignal
}

/** Asks again with the same ticket until the limits allow it. */
async function waiting<Action extends string, Answer>(
  { clock, gate, waitMsMax, signal }: Waiting<Action>,
  request: Passing<Action>,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    for (;;) {
      if (signal.aborted) throw cancelled(request.action)
      try {
        return await gate.pass(request, call)
      } catch (error) {
        if (!isNotNow(error) || error.retryAfterMs > waitMsMax) throw error
        // Any number of calls may share a signal, and each takes its listener off again: a warning of a leak would be false.
        setMaxListeners(0, signal)
        await clock.sleep(error.retryAfterMs, signal)
      }
    }
  } finally {
    gate.leave(request)
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
