import type { MachineTime } from '@lcm/domain/economy/machine-model'
import { quantile, sorted } from '../report/quantiles.ts'
import type { BilledHours } from './fleet.ts'
import type { Played } from './play-trace.ts'
import type { Outcome } from './sessions.ts'
import { isWalkIn, MINUTE_MS } from './trace.ts'

/** Sessions that are booked later than this may start late. */
const NOTICE_MS = 40 * MINUTE_MS

export interface Score {
  readonly usd: number
  readonly toBound: number
  readonly toFeasible: number
  /** Of the sessions booked with notice and not canceled: not READY when the slot began. */
  readonly latePercent: number
  readonly late: number
  /** Never READY, though not canceled. */
  readonly unserved: number
  /** Of them those that were booked with notice. */
  readonly unservedBooked: number
  /** Minutes from the booking of a walk-in until it was READY. */
  readonly walkInP50: number
  readonly walkInP95: number
  readonly boots: number
  readonly peak: number
  readonly hours: BilledHours
}

export function scoreOf(played: Played, least: { bound: MachineTime; feasible: MachineTime }): Score {
  const held = played.outcomes.filter(({ booking }) => booking.canceledMs === null)
  const booked = held.filter(({ booking }) => booking.startMs - booking.bookedMs >= NOTICE_MS)
  const late = booked.filter(({ booking, readyMs }) => readyMs === null || readyMs > booking.startMs).length
  const waits = sorted(held.flatMap(waitOf))
  const { usd, boots, peak, hours } = played
  return {
    usd,
    toBound: usd / least.bound.usd,
    toFeasible: usd / least.feasible.usd,
    late,
    latePercent: booked.length === 0 ? 0 : (100 * late) / booked.length,
    unserved: held.filter(isUnserved).length,
    unservedBooked: booked.filter(isUnserved).length,
    walkInP50: quantile(waits, 0.5),
    walkInP95: quantile(waits, 0.95),
    boots,
    peak,
    hours,
  }
}

const isUnserved = ({ readyMs }: Outcome): boolean => readyMs === null

const waitOf = ({ booking, readyMs }: Outcome): number[] =>
  isWalkIn(booking) && readyMs !== null ? [(readyMs - booking.bookedMs) / MINUTE_MS] : []
