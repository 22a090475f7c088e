import { type Clock, sleepOn } from '@lcm/runtime/clock'
import { indexedHeap, NOT_IN_HEAP, type Slotted } from '@lcm/runtime/indexed-heap'

/** A clock that advances only on demand, timer by timer. */
export interface SimulatedClock extends Clock {
  /** The wall clock jumps, as by an operator or NTP; deadlines and timers are not affected. */
  jumpWallClock(ms: number): void
  /** Timers that may still fire: those of a stopped service would keep a real process alive. */
  timersLeft(): number
}

export interface TimeMachine {
  readonly clock: SimulatedClock
  /**
   * Fires the timers of the next `ms` in order, each in its own macrotask, so that its promises settle before time
   * advances. Ends early, between two timers, once `isEnough` holds.
   */
  move(ms: number, isEnough?: () => boolean): Promise<void>
}

interface Timer extends Slotted {
  readonly at: number
  readonly tie: number
  readonly run: () => void
}

/** A Thursday at midnight, so that dates in traces are easy to read. */
export const WALL_CLOCK_START_MS = Date.UTC(2026, 0, 1)

/** A loop that waits for 0 ms again and again would otherwise hang the test silently. */
const TIMERS_PER_INSTANT_MAX = 250_000

/** `nextTie` orders timers of the same instant: the lower goes first. */
export function timeMachine(nextTie: () => number, wallClockStartMs = WALL_CLOCK_START_MS): TimeMachine {
  const timers = indexedHeap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.tie < b.tie))
  let elapsedMs = 0
  let wallOffsetMs = wallClockStartMs
  const clock: SimulatedClock = {
    now: () => Math.floor(wallOffsetMs + elapsedMs),
    monotonic: () => elapsedMs,
    after(ms, run) {
      const timer: Timer = { at: elapsedMs + (ms > 0 ? ms : 0), tie: nextTie(), run, slot: NOT_IN_HEAP }
      timers.push(timer)
      return () => timers.remove(timer)
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    jumpWallClock(ms) {
      wallOffsetMs += ms
    },
    timersLeft: () => timers.size,
  }
  let firedAtThisInstant = 0
  const fire = (timer: Timer) => {
    firedAtThisInstant = timer.at === elapsedMs ? firedAtThisInstant + 1 : 0
    if (firedAtThisInstant > TIMERS_PER_INSTANT_MAX) throw new Error(`time stands still at ${elapsedMs} ms`)
    timers.remove(timer)
    elapsedMs = timer.at
    timer.run()
  }
  const move = async (ms: number, isEnough = () => false) => {
    const end = elapsedMs + ms
    for (;;) {
      await macrotask()
      if (isEnough()) return
      const next = timers.peek()
      if (next === undefined || next.at > end) break
      fire(next)
    }
    elapsedMs = end
  }
  return { clock, move }
}

/** One macrotask: all promises that can settle have settled when it is over. */
const macrotask = () => new Promise<void>(resolve => setImmediate(resolve))
