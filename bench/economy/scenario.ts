import { type Faults, NO_FAULTS } from './fleet.ts'
import { type Booking, DAY_MS, TERM_MS } from './trace.ts'

export const FAULTS = ['refusals', 'slow-day'] as const
export type Fault = (typeof FAULTS)[number]

export function faultsOf(fault: Fault | 'none', bookings: readonly Booking[]): Faults {
  switch (fault) {
    case 'none':
      return NO_FAULTS
    case 'refusals':
      return { ...NO_FAULTS, refusals: true }
    case 'slow-day':
      return { ...NO_FAULTS, slowDay: busiestWednesday(bookings) }
  }
}

const WEDNESDAY = 2

/** By the sessions that start on it. */
export function busiestWednesday(bookings: readonly Booking[]): Faults['slowDay'] {
  const counts = new Map<number, number>()
  for (const { startMs } of bookings) {
    const day = Math.floor((startMs - TERM_MS) / DAY_MS)
    if (day % 7 === WEDNESDAY) counts.set(day, (counts.get(day) ?? 0) + 1)
  }
  const [busiest] = [...counts].sort(([, a], [, b]) => b - a)
  if (busiest === undefined) return null
  const fromMs = TERM_MS + busiest[0] * DAY_MS
  return { fromMs, untilMs: fromMs + DAY_MS }
}
