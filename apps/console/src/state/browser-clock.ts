import { type Clock, systemClock } from '@lcm/runtime/clock'
import { type ReadonlySignal, signal } from '@preact/signals'

/** The console's only door to time. The system clock needs nothing that a browser lacks. */
export const browserClock: Clock = systemClock

const TICK_MS = 1_000

/** The time, renewed every second, so that whatever shows an age renders again by reading it. */
export function ticking(clock: Clock): ReadonlySignal<number> {
  const nowMs = signal(clock.now())
  const tick = () => {
    nowMs.value = clock.now()
    clock.after(TICK_MS - (nowMs.value % TICK_MS), tick)
  }
  tick()
  return nowMs
}
