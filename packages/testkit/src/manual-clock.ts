import { type SimulatedClock, timeMachine } from './time-machine.ts'

export interface ManualClock extends SimulatedClock {
  /** Fires timers due within `ms`, in order, and lets promises settle in between. `advance(0)` only settles. */
  advance(ms: number): Promise<void>
}

/** Timers of the same instant fire in the order in which they were set. */
export function manualClock(wallClockStartMs?: number): ManualClock {
  let set = 0
  const nextTie = () => {
    set += 1
    return set
  }
  const { clock, move } = timeMachine(nextTie, wallClockStartMs)
  return { ...clock, advance: ms => move(ms) }
}
