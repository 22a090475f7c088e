import { type Instant, toMs } from '../instant.ts'
import type { StateChange, Worker } from '../worker/worker.ts'
import { LAB_STOPPED, type LabletSession, type Pipeline } from './lablet-session.ts'
import { nextStep, startedOver } from './pipeline.ts'

type Condition = LabletSession['conditions'][number]

/** Why a lab is stopped while its session is up, where CML's own word for its state does not say it. */
export const STOPPED_REASON = { restart: 'WorkerRestarted', failed: 'StartFailed' } as const

/** A machine goes down before its worker's record says so. */
const NOTICED_MS_MAX = 2 * 60_000

/** The pipeline that starts a stopped lab again and keeps its disks, its id and its ports. */
export const startedAgain = (pipeline: Pipeline): Pipeline => startedOver(pipeline, 'lab_start')

/**
 * When the machine was started again after the lab was last started; null when it was not, or when the lab had been stopped
 * before. A lab starts once per restart of its machine: from then on the lab was started later than the machine.
 */
export function restartThatStopped({ pipeline, conditions }: LabletSession, worker: Worker): Instant | null {
  const labStartedAt = pipeline?.name === 'instantiate' ? (pipeline.steps.lab_start?.started_at ?? null) : null
  const { state_history: history } = worker
  const index = history.findLastIndex(isRestart)
  const restartedAt = history[index]?.at ?? null
  if (labStartedAt === null || restartedAt === null || restartedAt <= labStartedAt) return null
  const downAt = history.slice(0, index + 1).findLast(({ from }) => from === 'RUNNING' || from === 'DRAINING')?.at
  const stopped = conditions.find(({ type, status }) => type === LAB_STOPPED && status)
  const wasStoppedBefore = stopped !== undefined && toMs(stopped.since) < toMs(downAt ?? restartedAt) - NOTICED_MS_MAX
  return wasStoppedBefore ? null : restartedAt
}

/** A person may start a stopped machine on EC2, which is found running. */
const isRestart = ({ from, to }: StateChange): boolean => to === 'STARTING' || (from === 'STOPPED' && to === 'RUNNING')

/** The condition of a lab that is stopped because its machine was, and is started again. */
export const stoppedByRestart = ({ name }: Worker, restartedAt: Instant, now: Instant): Condition => ({
  type: LAB_STOPPED,
  status: true,
  reason: STOPPED_REASON.restart,
  message: `${name} was started again at ${restartedAt}; the lab is started again`,
  since: now,
})

/** The conditions as they should be for what CML says of the lab; null when they are. */
export function labConditions(
  { conditions, pipeline }: LabletSession,
  { state, isStopped }: { readonly state: string; readonly isStopped: boolean },
  now: Instant,
): Condition[] | null {
  const before = conditions.find(({ type }) => type === LAB_STOPPED)
  if (before === undefined && !isStopped) return null
  const { reason, message } = isStopped ? whyStopped(pipeline, state, now) : { reason: state, message: 'it runs again' }
  const isSame = before?.status === isStopped
  if (isSame && (!isStopped || before.message === message)) return null
  const since = isSame ? before.since : now
  return withLabStopped(conditions, { type: LAB_STOPPED, status: isStopped, reason, message, since })
}

export const withLabStopped = (conditions: readonly Condition[], stopped: Condition): Condition[] => [
  ...conditions.filter(({ type }) => type !== LAB_STOPPED),
  stopped,
]

function whyStopped(pipeline: Pipeline | null, state: string, now: Instant): Pick<Condition, 'reason' | 'message'> {
  const next = pipeline?.name === 'instantiate' ? nextStep(pipeline, toMs(now)) : null
  return next?.kind === 'failed'
    ? { reason: STOPPED_REASON.failed, message: `The lab could not be started again: ${next.step.name}: ${next.error}` }
    : { reason: state, message: `CML reports the lab as ${state}: it was stopped on CML while its worker ran` }
}
