import { type Instant, toMs } from '../instant.ts'
import { type Reason, reason, sameReason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { LAB_STOPPED, type LabletSession, type Pipeline, WORKER_UNAVAILABLE } from './lablet-session.ts'
import { type NextStep, nextStep, startedOver } from './pipeline.ts'

type Condition = LabletSession['conditions'][number]

/** The codes of a lab that LCM knows to be stopped for another reason than a stop on CML. */
export const STOPPED_CODES = {
  restart: 'lab_stopped_by_restart',
  failed: 'lab_restart_failed',
  leaving: 'lab_stopped_by_termination',
} as const

/** A machine goes down before its worker's record shows it. */
const NOTICED_MS_MAX = 60_000

/** The pipeline that starts a stopped lab again and keeps its disks, its id and its ports. */
export const startedAgain = (pipeline: Pipeline): Pipeline => startedOver(pipeline, 'lab_start')

/**
 * The last restart of the machine, if the lab was started before it and was not seen since; else null. Each restart is judged once
 * per lab, whether or not it stopped that lab, so that a later stop by its owner is never mistaken for it.
 */
function unjudgedRestart({ pipeline, conditions }: LabletSession, { cml }: Worker): Instant | null {
  const labStartedAt = pipeline?.name === 'instantiate' ? (pipeline.steps.lab_start?.started_at ?? null) : null
  if (cml.restarted_at === null || labStartedAt === null || labStartedAt >= cml.restarted_at) return null
  const judged = conditions.find(({ type, status }) => type === WORKER_UNAVAILABLE && !status)
  return judged?.reason.params.restarted_at === cml.restarted_at ? null : cml.restarted_at
}

/** When the machine of a stopped lab was restarted; null if no restart stopped it, but its owner did before. */
export function restartThatStopped(session: LabletSession, worker: Worker): Instant | null {
  const restartedAt = unjudgedRestart(session, worker)
  const known = session.conditions.find(({ type, status }) => type === LAB_STOPPED && status)
  if (restartedAt === null || known === undefined) return restartedAt
  if (known.reason.code === STOPPED_CODES.restart || known.reason.code === STOPPED_CODES.failed) return restartedAt
  const downAt = worker.cml.up_until ?? restartedAt
  const isOfRestart = known.since <= restartedAt && toMs(known.since) >= toMs(downAt) - NOTICED_MS_MAX
  return isOfRestart ? restartedAt : null
}

/** When the machine was restarted while the lab was coming up; null when it was not. */
export const restartWhileStarting = (session: LabletSession, worker: Worker): Instant | null =>
  session.pipeline?.steps.lab_start?.status === 'completed' ? unjudgedRestart(session, worker) : null

export const restartReason = ({ name }: Worker, restartedAt: Instant): Reason =>
  reason(STOPPED_CODES.restart, { worker: name, restarted_at: restartedAt })

/** The conditions of a lab that is stopped because its machine was restarted, and is started again. */
export function conditionsOfRestart(
  { conditions }: LabletSession,
  worker: Worker,
  { because, now }: { because: Reason; now: Instant },
): Condition[] {
  const stopped: Condition = { type: LAB_STOPPED, status: true, reason: because, since: now }
  return put(put(conditions, servesAgain(conditions, worker, now)), stopped)
}

interface LabSeen {
  /** The state that CML reports; null when it is unknown. */
  readonly state: string | null
  readonly isStopped: boolean
  readonly worker: Worker | null
  /** Why the worker serves no labs; null while it serves. */
  readonly unavailable: Reason | null
}

/** The conditions of a session that is up, for its lab and its worker as they are; null if nothing changes. */
export function upConditions(session: LabletSession, seen: LabSeen, now: Instant): Condition[] | null {
  const changed = [workerCondition(session, seen, now), labCondition(session, seen, now)]
  const conditions = changed.reduce((all, each) => (each === null ? all : put(all, each)), session.conditions)
  return conditions === session.conditions ? null : conditions
}

const put = (conditions: readonly Condition[], next: Condition): Condition[] => [
  ...conditions.filter(({ type }) => type !== next.type),
  next,
]

/** A worker counts as back once its CML has shown the lab. */
function workerCondition(session: LabletSession, seen: LabSeen, now: Instant): Condition | null {
  const { conditions } = session
  const { worker, unavailable, state } = seen
  const before = conditions.find(({ type, status }) => type === WORKER_UNAVAILABLE && status)
  if (unavailable !== null) {
    if (before !== undefined && sameReason(before.reason, unavailable)) return null
    return { type: WORKER_UNAVAILABLE, status: true, reason: unavailable, since: before?.since ?? now }
  }
  if (worker === null || state === null) return null
  const isNews = before !== undefined || unjudgedRestart(session, worker) !== null
  return isNews ? servesAgain(conditions, worker, now) : null
}

/** The worker serves the lab, and its last restart is judged. */
function servesAgain(conditions: readonly Condition[], { name, cml }: Worker, now: Instant): Condition {
  const before = conditions.find(({ type, status }) => type === WORKER_UNAVAILABLE && !status)
  const because = reason('worker_serves_again', { worker: name, restarted_at: cml.restarted_at })
  return { type: WORKER_UNAVAILABLE, status: false, reason: because, since: before?.since ?? now }
}

/** The state of the lab; null if nothing changes, or while the lab is being started. */
function labCondition(session: LabletSession, { state, isStopped, worker }: LabSeen, now: Instant): Condition | null {
  const { conditions, pipeline } = session
  const before = conditions.find(({ type }) => type === LAB_STOPPED)
  const next = pipeline?.name === 'instantiate' ? nextStep(pipeline, toMs(now)) : null
  const isStarting = next !== null && next.kind !== 'done' && next.kind !== 'failed'
  if (state === null || isStarting || (before === undefined && !isStopped)) return null
  const because = isStopped ? whyStopped(next, state, { before, session, worker }) : reason('lab_running', { state })
  const isSame = before?.status === isStopped
  if (isSame && (!isStopped || sameReason(before.reason, because))) return null
  return { type: LAB_STOPPED, status: isStopped, reason: because, since: isSame ? before.since : now }
}

function whyStopped(
  next: NextStep | null,
  state: string,
  { before, session, worker }: { before: Condition | undefined; session: LabletSession; worker: Worker | null },
): Reason {
  // LCM stops the labs on a worker that is TERMINATING, to return its license.
  if (worker?.status === 'TERMINATING') return reason(STOPPED_CODES.leaving, { worker: worker.name })
  const byHand = reason('lab_stopped_on_cml', { state })
  if (next?.kind !== 'failed') return byHand
  // A lab that ran after a start that failed, in part or started by a person, was stopped by a person.
  const failedAt = session.pipeline?.steps[next.step.name]?.ended_at ?? null
  const ranSince = before?.status !== true || (before.reason.code === byHand.code && before.since > (failedAt ?? ''))
  return failedAt !== null && ranSince
    ? byHand
    : reason(STOPPED_CODES.failed, { step: next.step.name, error: next.error })
}
