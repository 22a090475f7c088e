import { toMs } from '../../instant.ts'
import { type Reason, reason, sameReason } from '../../reason.ts'
import type { LaunchParameters } from '../ec2-instance.ts'
import type { Observation, WorkerPolicy } from '../observation.ts'
import { CONDITION, type Worker, type WorkerChanges, withCondition } from '../worker.ts'

/**
 * The next action for a worker. Only `launch`, `start`, `stop`, `terminate`, `tag` and the two of the license change EC2 or CML,
 * and each of them is performed only in a state that an earlier write announced; for `tag` that is the worker's new name.
 */
export type WorkerAction =
  /** At rest: nothing to do and nothing to wait for. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  /** The cloud could not be read: retry with backoff. `changes`, if any, are written first. */
  | { readonly kind: 'retry'; readonly changes: WorkerChanges | null }
  /** `afterMs: 0` announces: the next reconcile acts on it. Null means at rest afterwards. */
  | { readonly kind: 'write'; readonly changes: WorkerChanges; readonly afterMs: number | null }
  | { readonly kind: 'open_attempt'; readonly n: number; readonly parameters: LaunchParameters }
  | { readonly kind: 'launch' }
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly force: boolean }
  | { readonly kind: 'terminate' }
  /** Sets these tags of its machine. Requeued after `afterMs`, whether or not EC2 accepted them. */
  | { readonly kind: 'tag'; readonly tags: Readonly<Record<string, string>>; readonly afterMs: number }
  | { readonly kind: 'register_license' }
  | { readonly kind: 'deregister_license' }
  /** The license is lost with its instance: it is recorded as leaked. Then `changes` are written. */
  | { readonly kind: 'record_leak'; readonly changes: WorkerChanges }
  /** Requests to stop its labs, since CML keeps its license while they run. The lablet-controller does it asynchronously. */
  | { readonly kind: 'stop_labs'; readonly afterMs: number }
  /** Reads the activity in its CML and sends it to the idle check, asynchronously. */
  | { readonly kind: 'survey' }

export interface Guard {
  readonly name: string
  readonly value: string | number | boolean
  readonly limit: string | number | boolean
  readonly passed: boolean
}

/** `guards` are the numbers that the decision is based on. */
export interface Decision {
  readonly action: WorkerAction
  readonly because: Reason
  readonly guards: readonly Guard[]
}

export const nothing = (because: Reason): Decision => ({ action: { kind: 'nothing' }, because, guards: [] })
export const wait = (afterMs: number, because: Reason, guards: readonly Guard[] = []): Decision => ({
  action: { kind: 'wait', afterMs },
  because,
  guards,
})
export const retry = (because: Reason, changes: WorkerChanges | null = null): Decision => ({
  action: { kind: 'retry', changes },
  because,
  guards: [],
})
export const write = (changes: WorkerChanges, afterMs: number | null, because: Reason): Decision => ({
  action: { kind: 'write', changes, afterMs },
  because,
  guards: [],
})
/** Writes the next action; the next reconcile follows at once and performs it. */
export const announce = (changes: WorkerChanges, because: Reason): Decision => write(changes, 0, because)
export const perform = (action: WorkerAction, because: Reason, guards: readonly Guard[] = []): Decision => ({
  action,
  because,
  guards,
})

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

/** Conditions of running workers only: other workers are neither measured nor probed. */
const OF_RUNNING: readonly string[] = [CONDITION.metricsStale, CONDITION.cmlAccessRefused, CONDITION.certificateChanged]

export function withoutRunningConditions(worker: Worker, decision: Decision): Decision {
  const { action } = decision
  if (action.kind !== 'write' || (action.changes.status ?? 'RUNNING') === 'RUNNING') return decision
  const conditions = action.changes.conditions ?? worker.conditions
  const kept = conditions.filter(({ type }) => !OF_RUNNING.includes(type))
  if (kept.length === conditions.length) return decision
  return { ...decision, action: { ...action, changes: { ...action.changes, conditions: kept } } }
}

/** Clears a refresh request once EC2 was read. */
export function refreshed(decision: Decision, { ec2 }: Observation): Decision {
  const { action, because } = decision
  if (ec2.kind === 'unknown') return decision
  const taken = { refresh_requested_at: null }
  if (action.kind === 'write') return { ...decision, action: { ...action, changes: { ...action.changes, ...taken } } }
  if (action.kind === 'nothing') return write(taken, null, reason('refreshed', { cause: because }))
  if (action.kind === 'wait') return write(taken, action.afterMs, reason('refreshed', { cause: because }))
  return decision
}

export const ageOf = (worker: Worker, nowMs: number): number => nowMs - toMs(worker.entered_status_at)

/** Requeues recent changes often, and old ones less often. */
export const requeueAfterMs = (worker: Worker, policy: WorkerPolicy, nowMs: number): number =>
  Math.min(policy.requeueMsMax, Math.max(policy.requeueMs, ageOf(worker, nowMs) / 4))
