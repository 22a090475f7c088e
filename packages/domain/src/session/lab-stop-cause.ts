import { type Instant, toMs } from '../instant.ts'
import { type Reason, reason, sameReason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { LAB_STOPPED, type LabletSession, type Pipeline } from './lablet-session.ts'
import { type NextStep, nextStep, startedOver } from './pipeline.ts'

type Condition = LabletSession['conditions'][number]

/** The codes of a lab that LCM knows to be stopped for another reason than a stop on CML. */
export const STOPPED_CODES = {
  restart: 'lab_stopped_by_restart',
  failed: 'lab_restart_failed',
  leaving: 'lab_stopped_by_termination',
} as const

/** A machine goes down before its worker's record shows it. */
const NOTICED_MS_MAX = 2 * 60_000

/** The pipeline that starts a stopped lab again and keeps its disks, its id and its ports. */
export const startedAgain = (pipeline: Pipeline): Pipeline => startedOver(pipeline, 'lab_start')

interface Restart {
  /** When the worker record last showed a running machine. */
  readonly downAt: Instant
  readonly at: Instant
}

/** The last restart of the machine, if the lab was started before it; null when it was not. */
function restartAfterStart(pipeline: Pipeline | null, { state_history: history }: Worker): Restart | null {
  const labStartedAt = pipeline?.name === 'instantiate' ? (pipeline.steps.lab_start?.started_at ?? null) : null
  const index = history.findLastIndex(({ to }) => to === 'STARTING' || to === 'STOPPED')
  // A user may start a stopped machine in EC2, which is found running.
  const at = history.slice(index).find(({ to }) => to === 'STARTING' || to === 'RUNNING')?.at
  const seenDownAt = history[index]?.at
  // Compared with when the machine was seen down, since the clocks of two services differ by less than a boot takes.
  if (labStartedAt === null || seenDownAt === undefined || at === undefined || seenDownAt <= labStartedAt) return null
  const downAt = history.slice(0, index + 1).findLast(({ from }) => from === 'RUNNING' || from === 'DRAINING')?.at
  return { downAt: downAt ?? at, at }
}

/**
 * When the machine was started again after the lab was last started; null when it was not, or when a user stopped the lab
 * before or after that. A lab starts once per restart of its machine: from then on the lab was started later than the machine.
 */
export function restartThatStopped({ pipeline, conditions }: LabletSession, worker: Worker): Instant | null {
  const restart = restartAfterStart(pipeline, worker)
  const known = conditions.find(({ type }) => type === LAB_STOPPED)
  if (restart === null || known === undefined) return restart?.at ?? null
  if (!known.status) return known.since > restart.at ? null : restart.at
  if (known.reason.code === STOPPED_CODES.restart || known.reason.code === STOPPED_CODES.failed) return restart.at
  const isOfRestart = known.since <= restart.at && toMs(known.since) >= toMs(restart.downAt) - NOTICED_MS_MAX
  return isOfRestart ? restart.at : null
}

/** When the machine was started again while the lab was coming up; null when it was not. */
export function restartWhileStarting(pipeline: Pipeline, worker: Worker): Instant | null {
  if (pipeline.name !== 'instantiate' || pipeline.steps.lab_start?.status !== 'completed') return null
  return restartAfterStart(pipeline, worker)?.at ?? null
}

export const restartReason = ({ name }: Worker, restartedAt: Instant): Reason =>
  reason(STOPPED_CODES.restart, { worker: name, restarted_at: restartedAt })

/** The condition of a lab that is stopped because its machine was, and is started again. */
export const stoppedByRestart = (worker: Worker, restartedAt: Instant, now: Instant): Condition => ({
  type: LAB_STOPPED,
  status: true,
  reason: restartReason(worker, restartedAt),
  since: now,
})

interface LabSeen {
  readonly state: string
  readonly isStopped: boolean
  readonly worker: Worker | null
}

/** The conditions for the state that CML reports; null if nothing changes, or while the lab is being started. */
export function labConditions(
  { conditions, pipeline }: LabletSession,
  { state, isStopped, worker }: LabSeen,
  now: Instant,
): Condition[] | null {
  const before = conditions.find(({ type }) => type === LAB_STOPPED)
  const next = pipeline?.name === 'instantiate' ? nextStep(pipeline, toMs(now)) : null
  const isStarting = next !== null && next.kind !== 'done' && next.kind !== 'failed'
  if (isStarting || (before === undefined && !isStopped)) return null
  const because = isStopped ? whyStopped(next, state, worker) : reason('lab_running', { state })
  const isSame = before?.status === isStopped
  if (isSame && (!isStopped || sameReason(before.reason, because))) return null
  const since = isSame ? before.since : now
  return withLabStopped(conditions, { type: LAB_STOPPED, status: isStopped, reason: because, since })
}

export const withLabStopped = (conditions: readonly Condition[], stopped: Condition): Condition[] => [
  ...conditions.filter(({ type }) => type !== LAB_STOPPED),
  stopped,
]

function whyStopped(next: NextStep | null, state: string, worker: Worker | null): Reason {
  // LCM stops the labs on a worker that is TERMINATING, to return its license.
  if (worker?.status === 'TERMINATING') return reason(STOPPED_CODES.leaving, { worker: worker.name })
  return next?.kind === 'failed'
    ? reason(STOPPED_CODES.failed, { step: next.step.name, error: next.error })
    : reason('lab_stopped_on_cml', { state })
}
