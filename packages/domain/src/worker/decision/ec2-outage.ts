import { toInstant } from '../../instant.ts'
import { reason } from '../../reason.ts'
import type { Observation, Unreadable } from '../observation.ts'
import { CONDITION, holds, type Worker, withoutCondition } from '../worker.ts'
import { announce, type Decision, retry, write } from './decision.ts'

/** How long EC2 must not answer before the worker gets a condition: one failed call must not set it. */
export const OUTAGE_MS = 30_000

/** EC2 could not be read, so nothing is known and nothing is done: retry with backoff, and set one condition for the whole outage. */
export function decideUnreadable(worker: Worker, { because, sinceMs }: Unreadable, nowMs: number): Decision {
  const isSet = holds(worker.conditions, CONDITION.ec2Unreachable)
  if (isSet || sinceMs === null || nowMs - sinceMs < OUTAGE_MS) return retry(because)
  const condition = { type: CONDITION.ec2Unreachable, status: true, reason: because, since: toInstant(sinceMs) }
  return retry(because, {
    conditions: [...withoutCondition(worker.conditions, CONDITION.ec2Unreachable), condition],
  })
}

/**
 * For a worker with the condition: removes it with the first decision after EC2 was read again. The reason of the decision stays: the
 * outage has changed nothing.
 */
export function withoutOutage(worker: Worker, { ec2, launch }: Observation, decision: Decision): Decision {
  if (ec2.kind === 'unknown' || (launch !== null && launch.problem !== null)) return decision
  const { action, because } = decision
  const conditions = withoutCondition(worker.conditions, CONDITION.ec2Unreachable)
  switch (action.kind) {
    case 'write': {
      const kept = withoutCondition(action.changes.conditions ?? worker.conditions, CONDITION.ec2Unreachable)
      return { ...decision, action: { ...action, changes: { ...action.changes, conditions: kept } } }
    }
    case 'nothing':
      return write({ conditions }, null, because)
    case 'wait':
      return write({ conditions }, action.afterMs, because)
    case 'survey':
      // A routine that is due when there is nothing else to do; it follows at once.
      return announce({ conditions }, reason('at_desired_status', { status: 'RUNNING' }))
    default:
      return announce({ conditions }, because)
  }
}
