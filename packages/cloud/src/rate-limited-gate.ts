import type { Clock } from '@lcm/runtime/clock'
import { CloudError } from './errors.ts'
import type { ActionLimits } from './rate-limited-actions.ts'
import { type Bucket, type BucketLimit, fullBucket, msUntil, spent } from './token-bucket.ts'

/** Lets calls of one region through within the limits of their actions. It never waits. */
export interface Gate<Action extends string> {
  /**
   * Runs `call` if the limits of its action allow it now. Otherwise it throws `throttled` with `retryAfterMs`: nothing was sent,
   * and the ticket keeps its turn for the caller that comes back with it. A `throttled` of the cloud itself pauses the action.
   */
  pass<Answer>(request: Passing<Action>, call: () => Promise<Answer>): Promise<Answer>
  /** Gives the turn of a ticket up: its caller does not come back. */
  leave(request: Pick<Passing<Action>, 'action' | 'ticket'>): void
  /** Counts requests that a call has made beyond its first. */
  charge(action: Action, requests: number): void
}

export interface Passing<Action extends string> {
  readonly action: Action
  readonly resources: number
  /** Names the caller: the same when it comes back. */
  readonly ticket: string
}

export interface GateOptions<Action extends string> {
  readonly clock: Clock
  readonly limits: Readonly<Record<Action, ActionLimits>>
}

const PAUSE_MS = { first: 1_000, max: 30_000 } as const
/** How long after its time a ticket keeps its turn. Its caller may be busy, or may want something else by then. */
const TICKET_KEPT_MS = 5_000
/** When to ask again while too many calls are under way: their end can't be foreseen. */
const IN_FLIGHT_RETRY_MS = 250

interface Ticket {
  readonly resources: number
  readonly expiresMs: number
}

/** One action: what it may use, who waits for it, and how long the cloud wants to be left alone with it. */
interface Lane {
  readonly limits: ActionLimits
  /** In the order in which they were first asked for. */
  readonly tickets: Map<string, Ticket>
  requests: Bucket
  resources: Bucket
  inFlight: number
  pauseMs: number
  pausedUntilMs: number
}

const UNLIMITED: BucketLimit = { capacity: Number.MAX_SAFE_INTEGER, perSecond: 1 }

export function openGate<Action extends string>({ clock, limits }: GateOptions<Action>): Gate<Action> {
  const nowMs = clock.monotonic()
  const entries = Object.entries<ActionLimits>(limits).map(([action, limit]) => [action, newLane(limit, nowMs)])
  const lanes: Readonly<Record<Action, Lane>> = Object.fromEntries(entries)
  return {
    async pass(request, call) {
      const lane = lanes[request.action]
      admit(lane, request, clock.monotonic())
      lane.inFlight += 1
      const sentMs = clock.monotonic()
      const judge = (throttled: boolean) => pace(lane, throttled, { sentMs, nowMs: clock.monotonic() })
      try {
        const answer = await call()
        judge(false)
        return answer
      } catch (error) {
        if (isThrottle(error)) judge(true)
        throw error
      } finally {
        lane.inFlight -= 1
      }
    },
    leave: ({ action, ticket }) => void lanes[action].tickets.delete(ticket),
    charge: (action, requests) => take(lanes[action], { requests, resources: 0 }, clock.monotonic()),
  }
}

const newLane = (limits: ActionLimits, nowMs: number): Lane => ({
  limits,
  tickets: new Map(),
  requests: fullBucket(limits.requests, nowMs),
  resources: fullBucket(limits.resources ?? UNLIMITED, nowMs),
  inFlight: 0,
  pauseMs: 0,
  pausedUntilMs: 0,
})

/** Takes what the call costs, or throws how long it must wait behind the tickets before it. */
function admit(lane: Lane, { action, resources, ticket }: Passing<string>, nowMs: number): void {
  for (const [name, { expiresMs }] of lane.tickets) if (expiresMs < nowMs) lane.tickets.delete(name)
  const waitMs = waitOf(lane, { resources, ticket }, nowMs)
  if (waitMs > 0) {
    lane.tickets.set(ticket, { resources, expiresMs: nowMs + waitMs + TICKET_KEPT_MS })
    throw notNow(action, waitMs)
  }
  lane.tickets.delete(ticket)
  take(lane, { requests: 1, resources }, nowMs)
}

function waitOf(lane: Lane, { resources, ticket }: { resources: number; ticket: string }, nowMs: number): number {
  const ahead = ticketsBefore(lane, ticket)
  const { limits } = lane
  const counted = limits.resources ?? UNLIMITED
  // More machines than the bucket ever holds go when it is full.
  const machines = [{ resources }, ...ahead].reduce((sum, each) => sum + Math.min(each.resources, counted.capacity), 0)
  return Math.max(
    lane.pausedUntilMs - nowMs,
    msUntil(limits.requests, lane.requests, { cost: 1 + ahead.length, nowMs }),
    msUntil(counted, lane.resources, { cost: machines, nowMs }),
    inFlightWait(lane, ahead.length),
  )
}

function ticketsBefore({ tickets }: Lane, ticket: string): readonly Ticket[] {
  const names = [...tickets.keys()]
  const place = names.indexOf(ticket)
  return [...tickets.values()].slice(0, place < 0 ? names.length : place)
}

function inFlightWait({ limits: { inFlightMax }, inFlight }: Lane, ahead: number): number {
  if (inFlightMax === null || inFlight + ahead < inFlightMax) return 0
  return IN_FLIGHT_RETRY_MS * (1 + Math.floor(ahead / inFlightMax))
}

function take(lane: Lane, cost: { requests: number; resources: number }, nowMs: number): void {
  lane.requests = spent(lane.limits.requests, lane.requests, { cost: cost.requests, nowMs })
  lane.resources = spent(lane.limits.resources ?? UNLIMITED, lane.resources, { cost: cost.resources, nowMs })
}

/** Calls that were under way when the pause began say nothing new about it. */
function pace(lane: Lane, throttled: boolean, { sentMs, nowMs }: { sentMs: number; nowMs: number }): void {
  if (sentMs < lane.pausedUntilMs) return
  if (!throttled) {
    lane.pauseMs = 0
    return
  }
  lane.pauseMs = lane.pauseMs === 0 ? PAUSE_MS.first : Math.min(2 * lane.pauseMs, PAUSE_MS.max)
  lane.pausedUntilMs = nowMs + lane.pauseMs
}

const isThrottle = (error: unknown): boolean => error instanceof CloudError && error.errorClass === 'throttled'

const notNow = (action: string, retryAfterMs: number) =>
  new CloudError('throttled', {
    code: 'RateLimited',
    action,
    message: 'nothing was sent: the rate limit of this account does not allow it yet',
    retryAfterMs,
  })
