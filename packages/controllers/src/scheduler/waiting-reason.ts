import { type Reason, reason, withoutAmounts } from '@lcm/domain/reason'
import type { SchedulingStep } from '@lcm/domain/session/scheduling-types'
import { movedAt } from '@lcm/domain/session/session-health'
import { unschedulable } from '@lcm/domain/session/unschedulable-reason'

/** The waiting reason that the owner of a session reads. `refusal`: why the API refused the scale-up. */
export function reasonOf(
  { session, because, forGood }: Extract<SchedulingStep, { kind: 'wait' }>,
  refusal: Reason | null,
): Reason {
  const cause = refusal === null ? because : reason('scale_up_refused', { cause: because, refusal })
  if (forGood) return unschedulable(cause)
  return movedAt(session) === null ? cause : reason('moved_session_waits', { cause })
}

/** Remaining seconds change by themselves; to write each of them would be a write per cycle. */
export const isNewReason = (known: Reason | null, because: Reason): boolean =>
  known === null || JSON.stringify(withoutAmounts(known)) !== JSON.stringify(withoutAmounts(because))
