import { toMs } from '../../instant.ts'
import { withCondition, withoutCondition } from '../boot.ts'
import type { LaunchInputs, Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, type Condition, STATE_HISTORY_MAX, type Worker } from '../worker.ts'
import { announce, type Decision, nothing, perform, wait, write } from './decision.ts'
import { hold } from './hold.ts'

export const failed = (reason: string, message: string) => ({ type: CONDITION.failed, status: true, reason, message })

/** Reasons that may be gone by themselves next time. A request that is wrong stays wrong until somebody mends it. */
const RETRYABLE: readonly string[] = ['timeout', 'InputMissing']

const failureOf = (worker: Worker): Condition | undefined =>
  worker.conditions.find(each => each.type === CONDITION.failed && each.status)

/** When the next automatic retry is due; null when there is none. */
export function retryDueMs(worker: Worker, { retryAfterMs }: WorkerPolicy): number | null {
  const failure = failureOf(worker)
  const pauseMs = retryAfterMs[worker.failures - 1]
  if (failure === undefined || pauseMs === undefined || !RETRYABLE.includes(failure.reason)) return null
  return toMs(worker.entered_status_at) + pauseMs
}

/** FAILED and wanted running, with a machine: a few more tries, and then it must at least cost nothing. */
export function decideFailed(seen: Seen): Decision {
  const { worker, policy, nowMs } = seen
  const dueMs = retryDueMs(worker, policy)
  if (dueMs === null) return decideGivenUp(seen)
  if (dueMs > nowMs) return wait(dueMs - nowMs, `waits for ${retryWords(worker, policy)}`)
  const conditions = withoutCondition(worker.conditions, CONDITION.stoppedAfterFailure)
  return announce({ status: 'STARTING', service_status: 'STARTING', conditions }, retryWords(worker, policy))
}

const retryWords = (worker: Worker, { retryAfterMs }: WorkerPolicy): string =>
  `retry ${worker.failures} of ${retryAfterMs.length}, after: ${failureOf(worker)?.message ?? 'it failed'}`

/** FAILED without a machine: tried again by itself, or when what it is made from has changed since. */
export function decideFailedEmpty(
  worker: Worker,
  inputs: LaunchInputs | null,
  policy: WorkerPolicy,
  nowMs: number,
): Decision {
  const dueMs = retryDueMs(worker, policy)
  if (dueMs !== null && dueMs > nowMs) return wait(dueMs - nowMs, `waits for ${retryWords(worker, policy)}`)
  if (dueMs !== null) return announce({ status: 'PENDING' }, retryWords(worker, policy))
  const changedAt = inputs?.template?.updated_at
  if (changedAt !== undefined && changedAt > worker.entered_status_at)
    return announce({ status: 'PENDING' }, `template ${worker.template_name} has changed since it failed`)
  return nothing('it failed before it had a machine; mend its template or retry it, or terminate it')
}

/** A machine of a failed worker costs as much as any other. */
function decideGivenUp(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  const said = worker.conditions.find(each => each.type === CONDITION.stoppedAfterFailure)
  if (instance.state === 'stopped') {
    if (said?.status) return nothing('it failed, and its machine is stopped; retry it or terminate it')
    return write({ ...stopNote(seen, true) }, null, 'its machine is stopped; its disk is kept')
  }
  if (worker.protected) {
    const message = `it failed and is protected, so ${instance.instance_id} goes on running and costing`
    return hold(worker, { type: CONDITION.overdue, reason: 'FailedProtected', message }, null, nowMs)
  }
  if (worker.origin === 'SCALE_UP' && !hasRun(worker))
    return announce({ status: 'TERMINATING' }, 'it was bought automatically and never ran')
  if (instance.state !== 'running') return wait(policy.lookAgainMsMax, `EC2 says ${instance.state}`)
  if (said === undefined)
    return announce(stopNote(seen, false), 'it failed for good; its machine is stopped to save money')
  return perform({ kind: 'stop', force: false }, 'it failed for good; its machine is stopped to save money')
}

/** A full history has lost its beginning, and with it what may have run. */
export const hasRun = ({ state_history: history }: Worker): boolean =>
  history.length >= STATE_HISTORY_MAX || history.some(change => change.to === 'RUNNING')

/** Announces that the machine of a failed worker is stopped, and later that it has. */
function stopNote({ worker, nowMs }: Seen, isDone: boolean) {
  const message = isDone ? 'stopped after it failed; its disk is kept' : 'being stopped after it failed'
  const condition = { type: CONDITION.stoppedAfterFailure, status: isDone, reason: 'Failed', message }
  const conditions = isDone ? withoutCondition(worker.conditions, CONDITION.stopBlocked) : worker.conditions
  return { conditions: withCondition(conditions, condition, nowMs) }
}
