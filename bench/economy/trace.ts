import { toMs } from '@lcm/domain/instant'
import type { LabNeeds } from '@lcm/domain/lab/topology'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const WEEK_MS = 7 * DAY_MS
/** Minute 0 of a trace is a Monday, 00:00. */
export const TERM_MS = toMs('2026-01-05T00:00:00.000Z')

export const LAB_SIZES = ['small', 'medium', 'large'] as const
export type LabSize = (typeof LAB_SIZES)[number]

/** One session of a trace. */
export interface Booking {
  readonly id: string
  readonly kind: 'class' | 'self'
  readonly course: string
  readonly lab: LabSize
  readonly bookedMs: number
  readonly startMs: number
  readonly endMs: number
  /** Null if it was not canceled. */
  readonly canceledMs: number | null
  /** When the learner left. */
  readonly leftMs: number
  readonly isNoShow: boolean
}

/** Labs need no storage and no node licenses here: neither is short on the machine of the traces. */
const needs = (cpu_cores: number, memory_gb: number): LabNeeds => ({
  cpu_cores,
  memory_gb,
  storage_gb: 0,
  node_count: 0,
})
interface Lab {
  readonly needs: LabNeeds
  readonly startMs: number
  /** Node types that boot about as long. */
  readonly nodes: string[]
}
export const LABS: Readonly<Record<LabSize, Lab>> = {
  small: { needs: needs(4, 2.3), startMs: 2 * MINUTE_MS, nodes: ['alpine'] },
  medium: { needs: needs(6, 17), startMs: 5 * MINUTE_MS, nodes: ['iosvl2'] },
  large: { needs: needs(8, 28), startMs: 8 * MINUTE_MS, nodes: ['nxosv9000'] },
}

export const isWalkIn = ({ bookedMs, startMs }: Booking): boolean => bookedMs >= startMs

/** The bookings that start in weeks `first` to `last` of the term; the first week is 1. */
export function inWeeks(bookings: readonly Booking[], first: number, last: number): Booking[] {
  const [from, until] = [TERM_MS + (first - 1) * WEEK_MS, TERM_MS + last * WEEK_MS]
  return bookings.filter(({ startMs }) => startMs >= from && startMs < until)
}
