import type { CapacityProfile } from '@lcm/domain/calendar/capacity-profile'
import type { Use } from '@lcm/domain/calendar/promised-machine'
import type { Timings } from '@lcm/domain/calendar/timings'
import type { SpendingFacts } from '@lcm/domain/fleet/budget'
import type { Demand } from '@lcm/domain/session/demand'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Clock } from '@lcm/runtime/clock'

/** What this process knows of the calendar. One decision at a time uses it. */
export interface CapacityCalendar {
  known: Known | null
  /** Ends when all decisions before have ended. */
  queue: Promise<unknown>
  /** How many decisions have not ended. */
  waiting: number
  /** Whether sessions of an earlier release have been decided about. */
  isReviewed: boolean
  /** How many of them were; null once that is logged. */
  reviewed: { readonly admitted: number; readonly best_effort: number } | null
}
export const newCalendar = (): CapacityCalendar => ({
  known: null,
  queue: Promise.resolve(),
  waiting: 0,
  isReviewed: false,
  reviewed: null,
})

export interface Known {
  readonly profile: CapacityProfile
  readonly workers: Map<string, Worker>
  /** By session id: the version that was entered. */
  readonly versions: Map<string, number>
  /** By definition: what a session of it demands. Null for a definition that was deleted. */
  readonly demands: Map<string, Placeable | null>
  /** Open sessions without a promise and without a worker, by id: when they would use one. */
  readonly bestEffort: Map<string, Use>
  /** Reservations without an open session, by the id of their use. */
  readonly held: Map<string, Demand>
  timings: Timings
  spending: SpendingFacts | null
  timedAtMs: number
  signature: string
  /** Null while the feed is not available: then everything is read again for each decision. */
  position: string | null
  readonly loadedAtMs: number
  number: number
}

/** A definition's demand for each of the needs that its sessions were booked with. */
export interface Placeable {
  readonly demand: Demand
  readonly byNeeds: Map<string, Demand>
}

/** Longer blocks would delay other requests. */
const SLICE_MS = 2
const PAUSE_MS_MAX = 8

/**
 * A pause between steps of a long computation, which lets other requests in when it is due. It lasts as long as the steps took, so
 * that half of the time is left for them, also where other programs compete for the processor.
 */
export function pauses(clock: Clock): () => Promise<void> | null {
  let beganMs = clock.monotonic()
  return () => {
    const tookMs = clock.monotonic() - beganMs
    if (tookMs < SLICE_MS) return null
    return clock.sleep(Math.min(PAUSE_MS_MAX, tookMs)).then(() => {
      beganMs = clock.monotonic()
    })
  }
}

/** Runs steps and lets other requests in between. */
export async function inSlices<T>(clock: Clock, steps: Generator<void, T>): Promise<T> {
  const pause = pauses(clock)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    const due = pause()
    if (due !== null) await due
  }
}

/** Decisions about one calendar in one process wait for each other. */
export function afterOthers<T>(
  { calendar }: { readonly calendar: CapacityCalendar },
  decide: () => Promise<T>,
): Promise<T> {
  const mine = calendar.queue.then(decide, decide)
  calendar.waiting += 1
  calendar.queue = mine
    .catch(() => undefined)
    .finally(() => {
      calendar.waiting -= 1
    })
  return mine
}
