import { setMaxListeners } from 'node:events'
import type { Clock } from '@lcm/runtime/clock'
import { CloudError } from './errors.ts'
import type { ActionLimits } from './rate-limited-actions.ts'
import { type Bucket, type BucketLimit, fullBucket, msUntil, spent } from './token-bucket.ts'

/** Lets calls of one region through within the limits of their actions. */
export interface Gate<Action extends string> {
  /** Runs `call` when its turn has come. A `throttled` from it makes everybody wait who wants the same action. */
  pass<Answer>(request: Passing<Action>, call: () => Promise<Answer>): Promise<Answer>
  /** Counts requests that a call has made beyond its first. */
  charge(action: Action, requests: number): void
}

export interface Passing<Action extends string> {
  readonly action: Action
  readonly resources: number
  readonly signal: AbortSignal
}

export interface GateOptions<Action extends string> {
  readonly clock: Clock
  /** In the order in which they go first. */
  readonly limits: Readonly<Record<Action, ActionLimits>>
  readonly inFlightMax: number
  /** Who waited that long is sent away, since what was decided then may be wrong by now. */
  readonly waitMsMax: number
}

const PAUSE_MS = { first: 1_000, max: 30_000 } as const

interface Waiting {
  readonly resources: number
  readonly go: () => void
}

/** One action: what it may use, who wants it, and how long the cloud wants to be left alone with it. */
interface Lane {
  readonly limits: ActionLimits
  readonly waiting: Set<Waiting>
  requests: Bucket
  resources: Bucket
  pauseMs: number
  pausedUntilMs: number
}

const UNLIMITED: BucketLimit = { capacity: Number.MAX_SAFE_INTEGER, perSecond: 1 }

export function openGate<Action extends string>(options: GateOptions<Action>): Gate<Action> {
  const { clock, inFlightMax } = options
  const lanes = lanesOf(options)
  const laneOf = (action: Action): Lane => lanes[action]
  const inOrder = Object.values<Lane>(lanes)
  let inFlight = 0
  let cancelWake: () => void = () => undefined

  /** Who is first in the first lane that may go; others of that lane wait behind it, other lanes do not. */
  function letGo(): void {
    cancelWake()
    for (let lane = readyLane(); lane; lane = readyLane()) goFirst(lane)
    const wakeInMs = Math.min(...inOrder.map(lane => msUntilReady(lane, clock.monotonic())))
    if (inFlight < inFlightMax && Number.isFinite(wakeInMs)) cancelWake = clock.after(wakeInMs, letGo)
  }

  const readyLane = (): Lane | undefined =>
    inFlight < inFlightMax ? inOrder.find(lane => msUntilReady(lane, clock.monotonic()) === 0) : undefined

  function goFirst(lane: Lane): void {
    const [first] = lane.waiting
    if (!first) return
    lane.waiting.delete(first)
    take(lane, { requests: 1, resources: first.resources }, clock.monotonic())
    inFlight += 1
    first.go()
  }

  function leave(): void {
    inFlight -= 1
    letGo()
  }

  return {
    async pass(request, call) {
      const lane = laneOf(request.action)
      await turnOf(lane, request, { clock, waitMsMax: options.waitMsMax, letGo })
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
        leave()
      }
    },
    charge: (action, requests) => take(laneOf(action), { requests, resources: 0 }, clock.monotonic()),
  }
}

function lanesOf<Action extends string>({ limits, clock }: GateOptions<Action>): Record<Action, Lane> {
  const nowMs = clock.monotonic()
  const newLane = (limit: ActionLimits): Lane => ({
    limits: limit,
    waiting: new Set(),
    requests: fullBucket(limit.requests, nowMs),
    resources: fullBucket(limit.resources ?? UNLIMITED, nowMs),
    pauseMs: 0,
    pausedUntilMs: 0,
  })
  const entries = Object.entries<ActionLimits>(limits).map(([action, limit]) => [action, newLane(limit)])
  return Object.fromEntries(entries)
}

function msUntilReady(lane: Lane, nowMs: number): number {
  const [first] = lane.waiting
  if (!first) return Number.POSITIVE_INFINITY
  return Math.max(
    0,
    lane.pausedUntilMs - nowMs,
    msUntil(lane.limits.requests, lane.requests, { cost: 1, nowMs }),
    msUntil(lane.limits.resources ?? UNLIMITED, lane.resources, { cost: first.resources, nowMs }),
  )
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

interface Queue {
  readonly clock: Clock
  readonly waitMsMax: number
  readonly letGo: () => void
}

/** Resolves when its turn has come, and rejects when it is aborted or has waited too long; it has left the lane then. */
function turnOf(lane: Lane, { action, resources, signal }: Passing<string>, queue: Queue): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      cancelTimer()
      signal.removeEventListener('abort', giveUp)
      settle()
    }
    const quit = (error: CloudError) => {
      lane.waiting.delete(waiting)
      end(() => reject(error))
      queue.letGo()
    }
    const giveUp = () => quit(cancelled(action))
    const waiting: Waiting = { resources, go: () => end(resolve) }
    if (signal.aborted) return reject(cancelled(action))
    // Any number of calls may share a signal, and each takes its listener off again: a warning of a leak would be false.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', giveUp)
    const cancelTimer = queue.clock.after(queue.waitMsMax, () => quit(tooBusy(action, queue.waitMsMax)))
    lane.waiting.add(waiting)
    queue.letGo()
  })
}

const cancelled = (action: string) =>
  new CloudError('transient', { code: 'AbortError', action, message: 'it was cancelled before it was sent' })

const tooBusy = (action: string, ms: number) =>
  new CloudError('throttled', {
    code: 'NoRoom',
    action,
    message: `nothing was sent: there was no room within ${ms} ms`,
  })
