import { type Clock, systemClock } from '@lcm/runtime/clock'
import { type ReadonlySignal, signal } from '@preact/signals'

/** The console's only source of time. The system clock works in browsers too. */
export const browserClock: Clock = systemClock

const TICK_MS = 1_000

/** The current time, updated every second: components that read it re-render. */
export function ticking(clock: Clock): ReadonlySignal<number> {
  const nowMs = signal(clock.now())
  const tick = () => {
    nowMs.value = clock.now()
    clock.after(TICK_MS - (nowMs.value % TICK_MS), tick)
  }
  tick()
  return nowMs
}
