import type { Clock } from '@lcm/runtime/clock'

/** By key, how long a condition has held without interruption; 0 while it does not. */
export function heldTimes(clock: Pick<Clock, 'now'>): (key: string, isHeld: boolean) => number {
  const since = new Map<string, number>()
  return (key, isHeld) => {
    if (!isHeld) {
      since.delete(key)
      return 0
    }
    const fromMs = since.get(key) ?? clock.now()
    since.set(key, fromMs)
    return clock.now() - fromMs
  }
}
