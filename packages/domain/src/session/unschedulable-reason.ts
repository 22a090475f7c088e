import { Reason, reason } from '../reason.ts'

/** The waiting reason of a session that no available machine can ever serve. */
export const unschedulable = (cause: Reason): Reason => reason('unschedulable', { cause })

/** Why a session can't be placed without a change by an operator; null while it may still be placed. */
export const unschedulableBecause = (waitingReason: Reason | null): Reason | null =>
  waitingReason?.code === 'unschedulable' ? (Reason.safeParse(waitingReason.params.cause).data ?? null) : null
