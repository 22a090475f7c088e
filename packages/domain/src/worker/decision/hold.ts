import { type Reason, sameReason } from '../../reason.ts'
import { withCondition } from '../boot.ts'
import type { Worker } from '../worker.ts'
import { type Decision, nothing, wait, write } from './decision.ts'

/** Sets one condition with the reason why the worker stays as it is. Writes only when the reason has changed. */
export function hold(
  worker: Worker,
  condition: { readonly type: string; readonly reason: Reason },
  afterMs: number | null,
  nowMs: number,
): Decision {
  const known = worker.conditions.find(each => each.type === condition.type)
  if (known?.status && sameReason(known.reason, condition.reason)) {
    return afterMs === null ? nothing(condition.reason) : wait(afterMs, condition.reason)
  }
  const conditions = withCondition(worker.conditions, { ...condition, status: true }, nowMs)
  return write({ conditions }, afterMs, condition.reason)
}
