import type { LabSpan } from '@lcm/domain/economy/machine-model'
import { TEARDOWN_MS } from './cloud-times.ts'
import { type Booking, isWalkIn, LABS } from './trace.ts'

const MEAN_TEARDOWN_MS = (TEARDOWN_MS.least + TEARDOWN_MS.most) / 2

/**
 * The labs as clairvoyants run them: without canceled bookings, with no-shows. A lab starts as early before its slot as it needs on
 * average, that of a walk-in when the learner comes; it is removed when the learner has left.
 */
export const labSpans = (bookings: readonly Booking[]): LabSpan[] =>
  bookings
    .filter(({ canceledMs }) => canceledMs === null)
    .map(booking => ({
      needs: LABS[booking.lab].needs,
      from_ms: booking.startMs - (isWalkIn(booking) ? 0 : LABS[booking.lab].startMs),
      until_ms: booking.leftMs + MEAN_TEARDOWN_MS,
    }))
