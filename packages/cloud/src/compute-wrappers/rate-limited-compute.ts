import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import { type Compute, type DescribeResult, IDS_PER_CALL, LISTED_PER_CALL, type PowerAction } from '../compute.ts'
import { CloudError, isRateLimited } from '../errors.ts'
import { chunks } from './batched-compute.ts'

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

/** Holds at most `capacity` tokens and gains `perSecond`. */
interface BucketLimit {
  readonly capacity: number
  readonly perSecond: number
}

/** Tokens at an instant. Negative after an overdraft. */
export interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Tolerance for rounding errors of fractions, which must not cost another wait. */
const TOLERANCE = 1e-6

export const fullBucket = ({ capacity }: BucketLimit, nowMs: number): Bucket => ({ tokens: capacity, atMs: nowMs })

/** Time that goes backward adds nothing. */
export function refill(limit: BucketLimit, { tokens, atMs }: Bucket, nowMs: number): Bucket {
  const gained = (Math.max(0, nowMs - atMs) / 1000) * limit.perSecond
  return { tokens: Math.min(limit.capacity, tokens + gained), atMs: Math.max(atMs, nowMs) }
}

/** Spends even when there are too few tokens: the bucket goes negative. */
export function spend(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): Bucket {
  const { tokens, atMs } = refill(limit, bucket, nowMs)
  return { tokens: tokens - cost, atMs }
}

/**
 * Whole milliseconds until the cost is covered; 0 when it is now. The sum of several costs may exceed the capacity: the
 * first are spent before the last is due.
 */
export function msUntil(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): number {
  const { tokens } = refill(limit, bucket, nowMs)
  const lacking = cost - tokens
  return lacking <= TOLERANCE ? 0 : Math.ceil((lacking / limit.perSecond) * 1000)
}

/** EC2 limits requests, and for changes also the machines that they name. */
interface ActionLimits {
  readonly requests: BucketLimit
  readonly resources: BucketLimit | null
  /** Concurrent calls, where slow ones could use up all connections; null where calls are batched anyway. */
  readonly inFlightMax: number | null
}

/** Runs calls of one region within the limits of their actions. Never waits. */
interface RateLimiter<Action extends string> {
  /**
   * Runs `call` if the limits of its action allow it now. Otherwise throws `throttled` with `retryAfterMs`: nothing was
   * sent, and the ticket keeps its place for the caller that retries with it. A `throttled` of the cloud itself pauses
   * the action.
   */
  run<Answer>(request: LimitedRequest<Action>, call: () => Promise<Answer>): Promise<Answer>
  /** Gives up the place of a ticket: its caller won't retry. */
  cancel(request: Pick<LimitedRequest<Action>, 'action' | 'ticket'>): void
  /** Counts requests that a call has made beyond its first. */
  charge(action: Action, requests: number): void
}

interface LimitedRequest<Action extends string> {
  readonly action: Action
  readonly resources: number
  /** Identifies the caller across retries. */
  readonly ticket: string
}

interface RateLimiterOptions<Action extends string> {
  readonly clock: Clock
  readonly limits: Readonly<Record<Action, ActionLimits>>
}

const PAUSE_MS = { first: 1_000, max: 30_000 } as const
/** How long a ticket keeps its place after its time. Its caller may be busy, or may need something else by then. */
const TICKET_KEPT_MS = 5_000
/** Retry delay while too many calls are in progress, since their end is unknown. */
const IN_FLIGHT_RETRY_MS = 250

interface Ticket {
  readonly resources: number
  readonly expiresMs: number
}

/** State of one action: tokens, waiting tickets, and the pause that the cloud demanded. */
interface ActionState {
  readonly limits: ActionLimits
  /** In the order of their first attempt. */
  readonly tickets: Map<string, Ticket>
  requests: Bucket
  resources: Bucket
  inFlight: number
  pauseMs: number
  pausedUntilMs: number
}

const UNLIMITED: BucketLimit = { capacity: Number.MAX_SAFE_INTEGER, perSecond: 1 }

function rateLimiter<Action extends string>({ clock, limits }: RateLimiterOptions<Action>): RateLimiter<Action> {
  const nowMs = clock.monotonic()
  const entries = Object.entries<ActionLimits>(limits).map(([action, limit]) => [action, newActionState(limit, nowMs)])
  const states: Readonly<Record<Action, ActionState>> = Object.fromEntries(entries)
  return {
    async run(request, call) {
      const state = states[request.action]
      admit(state, request, clock.monotonic())
      state.inFlight += 1
      const sentMs = clock.monotonic()
      const settlePause = (throttled: boolean) => adjustPause(state, throttled, { sentMs, nowMs: clock.monotonic() })
      try {
        const answer = await call()
        settlePause(false)
        return answer
      } catch (error) {
        if (isThrottle(error)) settlePause(true)
        throw error
      } finally {
        state.inFlight -= 1
      }
    },
    cancel: ({ action, ticket }) => void states[action].tickets.delete(ticket),
    charge: (action, requests) => take(states[action], { requests, resources: 0 }, clock.monotonic()),
  }
}

const newActionState = (limits: ActionLimits, nowMs: number): ActionState => ({
  limits,
  tickets: new Map(),
  requests: fullBucket(limits.requests, nowMs),
  resources: fullBucket(limits.resources ?? UNLIMITED, nowMs),
  inFlight: 0,
  pauseMs: 0,
  pausedUntilMs: 0,
})

/** Spends the cost of the call, or throws how long it must wait behind earlier tickets. */
function admit(state: ActionState, { action, resources, ticket }: LimitedRequest<string>, nowMs: number): void {
  for (const [name, { expiresMs }] of state.tickets) if (expiresMs < nowMs) state.tickets.delete(name)
  const waitMs = waitOf(state, { resources, ticket }, nowMs)
  if (waitMs > 0) {
    state.tickets.set(ticket, { resources, expiresMs: nowMs + waitMs + TICKET_KEPT_MS })
    throw notNow(action, waitMs)
  }
  state.tickets.delete(ticket)
  take(state, { requests: 1, resources }, nowMs)
}

function waitOf(
  state: ActionState,
  { resources, ticket }: { resources: number; ticket: string },
  nowMs: number,
): number {
  const ahead = ticketsBefore(state, ticket)
  const { limits } = state
  const counted = limits.resources ?? UNLIMITED
  // A call for more machines than the bucket ever holds runs when it is full.
  const machines = [{ resources }, ...ahead].reduce((sum, each) => sum + Math.min(each.resources, counted.capacity), 0)
  return Math.max(
    state.pausedUntilMs - nowMs,
    msUntil(limits.requests, state.requests, { cost: 1 + ahead.length, nowMs }),
    msUntil(counted, state.resources, { cost: machines, nowMs }),
    inFlightWait(state, ahead.length),
  )
}

function ticketsBefore({ tickets }: ActionState, ticket: string): readonly Ticket[] {
  const names = [...tickets.keys()]
  const place = names.indexOf(ticket)
  return [...tickets.values()].slice(0, place < 0 ? names.length : place)
}

function inFlightWait({ limits: { inFlightMax }, inFlight }: ActionState, ahead: number): number {
  if (inFlightMax === null || inFlight + ahead < inFlightMax) return 0
  return IN_FLIGHT_RETRY_MS * (1 + Math.floor(ahead / inFlightMax))
}

function take(state: ActionState, cost: { requests: number; resources: number }, nowMs: number): void {
  state.requests = spend(state.limits.requests, state.requests, { cost: cost.requests, nowMs })
  state.resources = spend(state.limits.resources ?? UNLIMITED, state.resources, { cost: cost.resources, nowMs })
}

/** Calls that were already in progress when the pause began prove nothing new. */
function adjustPause(
  state: ActionState,
  throttled: boolean,
  { sentMs, nowMs }: { sentMs: number; nowMs: number },
): void {
  if (sentMs < state.pausedUntilMs) return
  if (!throttled) {
    state.pauseMs = 0
    return
  }
  state.pauseMs = state.pauseMs === 0 ? PAUSE_MS.first : Math.min(2 * state.pauseMs, PAUSE_MS.max)
  state.pausedUntilMs = nowMs + state.pauseMs
}

const isThrottle = (error: unknown): boolean => error instanceof CloudError && error.errorClass === 'throttled'

const notNow = (action: string, retryAfterMs: number) =>
  new CloudError('throttled', {
    code: 'RateLimited',
    action,
    message: 'nothing was sent: the rate limit of this account does not allow it yet',
    retryAfterMs,
  })
