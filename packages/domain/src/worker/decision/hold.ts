import { withCondition } from '../boot.ts'
import type { Worker } from '../worker.ts'
import { type Decision, nothing, wait, write } from './decision.ts'

/** Says once why the worker stays as it is. */
export function hold(
  worker: Worker,
  condition: { readonly type: string; readonly reason: string; readonly message: string },
  afterMs: number | null,
  nowMs: number,
): Decision {
  const said = worker.conditions.find(each => each.type === condition.type)
  if (said?.status && said.reason === condition.reason && said.message === condition.message) {
    return afterMs === null ? nothing(condition.message) : wait(afterMs, condition.message)
  }
  const conditions = withCondition(worker.conditions, { ...condition, status: true }, nowMs)
  return write({ conditions }, afterMs, condition.message)
}
