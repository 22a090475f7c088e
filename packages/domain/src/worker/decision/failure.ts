import { toMs } from '../../instant.ts'
import { type Reason, type ReasonCode, reason } from '../../reason.ts'
import type { LaunchInputs, Seen, WorkerPolicy } from '../observation.ts'
import {
  CONDITION,
  type Condition,
  STATE_HISTORY_MAX,
  type Worker,
  withCondition,
  withoutCondition,
} from '../worker.ts'
import { announce, type Decision, hold, nothing, perform, wait, write } from './decision.ts'

export const failed = (because: Reason) => ({ type: CONDITION.failed, status: true, reason: because })

/** Codes of failures that may not happen again. An invalid request stays invalid until an operator corrects it. */
const RETRYABLE: readonly string[] = [
  'status_timeout',
  'stops_after_each_start',
  'launch_input_missing',
] satisfies ReasonCode[]

const failureOf = (worker: Worker): Condition | undefined =>
  worker.conditions.find(each => each.type === CONDITION.failed && each.status)

interface Retry {
  readonly dueMs: number
  readonly params: { readonly retry: number; readonly retries: number; readonly cause: Reason }
}

function nextRetry(worker: Worker, { retryAfterMs }: WorkerPolicy): Retry | null {
  const failure = failureOf(worker)
  const pauseMs = retryAfterMs[worker.failures - 1]
  if (failure === undefined || pauseMs === undefined || !RETRYABLE.includes(failure.reason.code)) return null
  return {
    dueMs: toMs(worker.entered_status_at) + pauseMs,
    params: { retry: worker.failures, retries: retryAfterMs.length, cause: failure.reason },
  }
}

/** When the next automatic retry is due; null when there is none. */
export const retryDueMs = (worker: Worker, policy: WorkerPolicy): number | null =>
  nextRetry(worker, policy)?.dueMs ?? null

/** FAILED with an instance, RUNNING is desired: retry a few times, then stop the instance so that it costs nothing. */
export function decideFailed(seen: Seen): Decision {
  const { worker, policy, nowMs } = seen
  const retry = nextRetry(worker, policy)
  if (retry === null) return decideGivenUp(seen)
  if (retry.dueMs > nowMs) return wait(retry.dueMs - nowMs, reason('retry_scheduled', retry.params))
  const conditions = withoutCondition(worker.conditions, CONDITION.stoppedAfterFailure)
  return announce({ status: 'STARTING', service_status: 'STARTING', conditions }, reason('retry_started', retry.params))
}

/** FAILED without an instance: retried automatically, and when its template has changed since. */
export function decideFailedEmpty(
  worker: Worker,
  inputs: LaunchInputs | null,
  policy: WorkerPolicy,
  nowMs: number,
): Decision {
  const retry = nextRetry(worker, policy)
  if (retry !== null && retry.dueMs > nowMs) return wait(retry.dueMs - nowMs, reason('retry_scheduled', retry.params))
  if (retry !== null) return announce({ status: 'PENDING' }, reason('retry_started', retry.params))
  const changedAt = inputs?.template?.updated_at
  if (changedAt !== undefined && changedAt > worker.entered_status_at)
    return announce({ status: 'PENDING' }, reason('template_changed', { template: worker.template_name }))
  return nothing(reason('failed_without_instance'))
}

/** The instance of a failed worker costs as much as any other. */
function decideGivenUp(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  const known = worker.conditions.find(each => each.type === CONDITION.stoppedAfterFailure)
  if (instance.state === 'stopped') {
    if (known?.status) return nothing(reason('failed_and_stopped'))
    return write({ ...stopNote(seen, true) }, null, reason('stopped_after_failure'))
  }
  if (worker.protected) {
    const because = reason('failed_but_protected', { instance_id: instance.instance_id })
    return hold(worker, { type: CONDITION.overdue, reason: because }, null, nowMs)
  }
  if (worker.origin === 'SCALE_UP' && !hasRun(worker))
    return announce({ status: 'TERMINATING' }, reason('scale_up_never_ran'))
  if (instance.state !== 'running') return wait(policy.requeueMsMax, reason('ec2_reports', { state: instance.state }))
  const because = reason('stopping_after_failure')
  if (known === undefined) return announce(stopNote(seen, false), because)
  return perform({ kind: 'stop', force: false }, because)
}

/** A full history has lost its beginning, and with it what may have run. */
export const hasRun = ({ state_history: history }: Worker): boolean =>
  history.length >= STATE_HISTORY_MAX || history.some(change => change.to === 'RUNNING')

/** The condition while the instance of a failed worker is being stopped, and after that. */
function stopNote({ worker, nowMs }: Seen, isDone: boolean) {
  const because = reason(isDone ? 'stopped_after_failure' : 'stopping_after_failure')
  const condition = { type: CONDITION.stoppedAfterFailure, status: isDone, reason: because }
  const conditions = isDone ? withoutCondition(worker.conditions, CONDITION.stopBlocked) : worker.conditions
  return { conditions: withCondition(conditions, condition, nowMs) }
}
