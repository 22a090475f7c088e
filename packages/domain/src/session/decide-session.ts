import { labStartBlock } from '../calendar/lab-start-block.ts'
import { type Instant, toInstant, toMs } from '../instant.ts'
import { type Reason, reason, sameReason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { DUE_WORKER_LOST_MS, statusReason, workerLost } from '../worker/worker-loss.ts'
import {
  conditionsOfRestart,
  restartReason,
  restartThatStopped,
  restartWhileStarting,
  STOPPED_CODES,
  startedAgain,
} from './lab-stop-cause.ts'
import {
  LAB_STOPPED,
  type LabletSession,
  type Pipeline,
  type SessionStatus,
  type Step,
  UNTOUCHED,
} from './lablet-session.ts'
import { blocked, type NextStep, newPipeline, nextStep } from './pipeline.ts'
import { movedAt } from './session-health.ts'
import { moveStep } from './session-move-request.ts'

const MINUTE_MS = 60_000
export const INSTANTIATE_ATTEMPTS_MAX = 3
const REQUEUE_MS = 5_000

/** The fields of a session that a controller may write; omitted fields stay. */
export interface SessionChanges {
  readonly status?: SessionStatus
  readonly pipeline?: Pipeline | null
  readonly worker_id?: null
  readonly last_error?: string | null
  readonly waiting_reason?: Reason | null
  readonly conditions?: LabletSession['conditions']
}

export type SessionAction =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  /** The next reconcile follows at once. */
  | { readonly kind: 'write'; readonly changes: SessionChanges }
  /** One step of the pipeline is started, performed or judged. */
  | { readonly kind: 'step'; readonly next: Exclude<NextStep, { kind: 'rest' | 'done' }> }

export interface SessionDecision {
  readonly action: SessionAction
  readonly because: Reason
}

export interface SessionFacts {
  /** The worker of the session; null when there is none, or no record of it. */
  readonly worker: Worker | null
  /** Whether a complete list of CML lacks its lab. */
  readonly isLabGone: boolean
  /** Whether CML reports its lab as stopped. */
  readonly isLabStopped: boolean
  /** Names the nodes that are not up in a lab that came up without some; empty when all are, null when unknown. */
  readonly notBooted: string | null
  readonly nowMs: number
}

const nothing = (because: Reason): SessionDecision => ({ action: { kind: 'nothing' }, because })
const wait = (afterMs: number, because: Reason): SessionDecision => ({ action: { kind: 'wait', afterMs }, because })
const write = (changes: SessionChanges, because: Reason): SessionDecision => ({
  action: { kind: 'write', changes },
  because,
})

/** Decides what lablet-controller does next with a session. Its desired status comes first, then its slot, then its lab. */
export function decideSession(session: LabletSession, facts: SessionFacts): SessionDecision {
  switch (session.status) {
    case 'PENDING':
      return isUnwanted(session)
        ? write({ status: 'TERMINATED' }, canceled(session))
        : nothing(reason('waiting_for_placement'))
    case 'SCHEDULED':
      return decideScheduled(session, facts)
    case 'INSTANTIATING':
      return decideInstantiating(session, facts)
    case 'READY':
    case 'RUNNING':
      return decideUp(session, facts)
    case 'EXPIRED':
      return decideExpired(session, facts)
    case 'STOPPING':
      return decideTeardown(session, facts)
    case 'STOPPED':
      return decideStopped(session)
    case 'ARCHIVED':
    case 'TERMINATED':
      return nothing(reason('status_is_final', { status: session.status }))
  }
}

const isUnwanted = ({ desired_status }: LabletSession): boolean => desired_status === 'TERMINATED'
const canceled = ({ desired_by, desired_reason }: LabletSession): Reason =>
  reason('session_canceled', { by: desired_by, reason: desired_reason })

/** While a worker drains or returns its license, CML still serves the labs on it. */
export const canServeLabs = (worker: Worker | null): boolean =>
  worker !== null &&
  worker.service_status === 'AVAILABLE' &&
  (worker.status === 'RUNNING' || worker.status === 'DRAINING' || worker.status === 'TERMINATING')

/** A draining worker waits for the sessions that are placed on it. */
const canStartLabs = (worker: Worker | null): boolean => canServeLabs(worker) && worker?.status !== 'TERMINATING'

const notServing = (worker: Worker | null): Reason => reason('worker_not_serving', { worker: worker?.name ?? null })

function decideScheduled(session: LabletSession, { worker, nowMs }: SessionFacts): SessionDecision {
  if (isUnwanted(session)) return write({ status: 'TERMINATED' }, canceled(session))
  if (toMs(session.timeslot.end) <= nowMs) return write({ status: 'EXPIRED' }, neverStarted(session))
  const from = worker?.reservations[session.id]?.from
  const dueInMs = from === undefined ? 0 : toMs(from) - nowMs
  if (dueInMs > 0) return wait(dueInMs, reason('lab_start_scheduled'))
  if (worker === null || !canStartLabs(worker)) return wait(REQUEUE_MS, workerLost(worker, nowMs) ?? notServing(worker))
  const block = labStartBlock(worker, session.id)
  if (block === null)
    return write(
      { status: 'INSTANTIATING', pipeline: newPipeline('instantiate', 1), waiting_reason: null },
      reason('starting_lab'),
    )
  const isKnown = session.waiting_reason !== null && sameReason(session.waiting_reason, block)
  return isKnown ? wait(REQUEUE_MS, block) : write({ waiting_reason: block }, block)
}

const NEVER_READY = 'the timeslot ended before the lab was ready'
const overAfterMove = (at: Instant): Reason => reason('timeslot_over_after_move', { at })

function neverStarted(session: LabletSession): Reason {
  const moved = movedAt(session)
  return moved === null ? reason('timeslot_over_before_lab_start') : overAfterMove(moved)
}

function neverReady(session: LabletSession): string {
  const moved = movedAt(session)
  return moved === null ? NEVER_READY : overAfterMove(moved).message
}

function decideInstantiating(session: LabletSession, { worker, nowMs }: SessionFacts): SessionDecision {
  if (isUnwanted(session)) return stopping(session, canceled(session), null)
  if (toMs(session.timeslot.end) <= nowMs) return stopping(session, reason('timeslot_over'), neverReady(session))
  // No lab is started on a worker that is TERMINATING, which may take hours.
  const lost = worker?.status === 'TERMINATING' ? statusReason(worker) : workerLost(worker, nowMs, DUE_WORKER_LOST_MS)
  if (lost !== null)
    return write(
      { status: 'PENDING', worker_id: null, pipeline: null, waiting_reason: lost },
      reason('session_placed_again', { cause: lost }),
    )
  const { pipeline } = session
  if (!canStartLabs(worker)) return heldUp(pipeline, notServing(worker), nowMs)
  if (pipeline === null || pipeline.name !== 'instantiate')
    return write({ pipeline: newPipeline('instantiate', 1) }, reason('starting_lab'))
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done') return write({ status: 'READY', last_error: null }, reason('lab_ready'))
  const restarted = startOver(session, worker, nowMs)
  if (restarted !== null) return restarted
  return next.kind === 'failed' ? tryAgain(session, pipeline, next, nowMs) : stepOf(next)
}

/** A lab that stopped with its machine while it was starting is started again at once: its nodes would never boot. It costs no attempt. */
function startOver(session: LabletSession, worker: Worker | null, nowMs: number): SessionDecision | null {
  const restartedAt = worker === null ? null : restartWhileStarting(session, worker)
  const { pipeline } = session
  if (worker === null || restartedAt === null || pipeline === null) return null
  const restart = { pipeline: { ...startedAgain(pipeline), attempt: pipeline.attempt }, restartedAt, nowMs }
  return startAfterRestart(session, worker, restart)
}

function startAfterRestart(
  session: LabletSession,
  worker: Worker,
  { pipeline, restartedAt, nowMs }: { pipeline: Pipeline; restartedAt: Instant; nowMs: number },
): SessionDecision {
  const because = restartReason(worker, restartedAt)
  const conditions = conditionsOfRestart(session, worker, { because, now: toInstant(nowMs) })
  return write({ pipeline, conditions }, because)
}

/** Records in the next step what it waits for. */
function heldUp(pipeline: Pipeline | null, because: Reason, nowMs: number): SessionDecision {
  const next = pipeline === null ? null : nextStep(pipeline, nowMs)
  const isStep = next !== null && next.kind !== 'done' && next.kind !== 'failed'
  const held = pipeline !== null && isStep ? blocked(pipeline, next.step, because) : null
  return held === null ? wait(REQUEUE_MS, because) : write({ pipeline: held }, because)
}

const stepOf = (next: Exclude<NextStep, { kind: 'done' }>): SessionDecision =>
  next.kind === 'rest'
    ? wait(next.afterMs, reason('pipeline_step_retry', { step: next.step.name }))
    : { action: { kind: 'step', next }, because: reason('pipeline_step', { step: next.step.name }) }

/** Longer after every attempt. */
const ATTEMPT_REST_MS = 30_000

/** Retries the whole pipeline, since every step finds what an earlier one has left; after the last attempt the lab is torn down. */
function tryAgain(
  session: LabletSession,
  { attempt, steps }: Pipeline,
  { step, error }: Extract<NextStep, { kind: 'failed' }>,
  nowMs: number,
): SessionDecision {
  const last_error = `${step.name}: ${error}`
  const failure = { step: step.name, error }
  const attempts_max = INSTANTIATE_ATTEMPTS_MAX
  if (attempt >= attempts_max)
    return stopping(session, reason('lab_start_failed', { attempts: attempts_max, ...failure }), last_error)
  const because = reason('lab_start_attempt_failed', { attempt, attempts_max, ...failure })
  const endedAt = steps[step.name]?.ended_at ?? null
  const restMs = endedAt === null ? 0 : toMs(endedAt) + ATTEMPT_REST_MS * attempt - nowMs
  if (restMs > 0) return wait(restMs, because)
  return write(
    { pipeline: newPipeline('instantiate', attempt + 1), last_error },
    reason('lab_start_retry', { attempt: attempt + 1, cause: because }),
  )
}

/** Only its slot, its owner or the removal of its lab ends a session that is up: a worker that is silent or down may come back. */
function decideUp(session: LabletSession, facts: SessionFacts): SessionDecision {
  const { worker, isLabGone, nowMs } = facts
  if (isUnwanted(session)) return stopping(session, canceled(session), null)
  const [startsInMs, endsInMs] = [toMs(session.timeslot.start) - nowMs, toMs(session.timeslot.end) - nowMs]
  if (endsInMs <= 0) return stopping(session, reason('timeslot_over'), null)
  if (isLabGone) {
    const removed = reason('lab_removed')
    return stopping(session, removed, removed.message)
  }
  const moving = decideMove(session, facts)
  if (moving !== null) return moving
  const isEarly = session.status === 'READY'
  if (isEarly && startsInMs <= 0) return write({ status: 'RUNNING' }, reason('timeslot_started'))
  const untilMs = isEarly ? startsInMs : endsInMs
  const restart = decideRestart(session, worker, nowMs) ?? startStopped(session, facts) ?? judgeNodes(session, facts)
  if (restart === null)
    return wait(untilMs, labUnavailable(worker) ?? reason(isEarly ? 'waiting_for_timeslot' : 'session_in_use'))
  const { action, because } = restart
  return action.kind === 'wait' ? wait(Math.min(untilMs, action.afterMs), because) : restart
}

/** A person moves the session: it leaves after a last save. */
function decideMove(session: LabletSession, { worker, nowMs }: SessionFacts): SessionDecision | null {
  const step = moveStep(session, canServeLabs(worker), nowMs)
  if (step === null) return null
  if (step.kind === 'save') return wait(step.leftMs, reason('saving_lab'))
  const { because } = step
  return write({ status: 'PENDING', worker_id: null, pipeline: null, waiting_reason: because }, because)
}

/** Whether the machine may run, so that its labs may too, although nothing is known of them. */
export const mayRun = ({ status }: Pick<Worker, 'status'>): boolean =>
  status === 'RUNNING' || status === 'DRAINING' || status === 'TERMINATING' || status === 'UNKNOWN'

/** Why a lab that was up can't be used now; null while its worker serves. */
export function labUnavailable(worker: Worker | null): Reason | null {
  if (worker === null) return reason('worker_deleted')
  if (canServeLabs(worker)) return null
  const { name, status, desired_status } = worker
  if (mayRun(worker)) return reason('lab_state_unknown', { worker: name, status })
  const restarting = desired_status === 'RUNNING' && status !== 'TERMINATED' && status !== 'FAILED'
  return reason('lab_down', { worker: name, status, restarting })
}

/** A user requested a restart of the lab. If it fails, the session continues and the restart can be requested again. */
function decideRestart(session: LabletSession, worker: Worker | null, nowMs: number): SessionDecision | null {
  const { pipeline } = session
  if (pipeline === null || pipeline.name !== 'instantiate') return null
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done' || next.kind === 'failed') return null
  return canStartLabs(worker)
    ? (startOver(session, worker, nowMs) ?? stepOf(next))
    : heldUp(pipeline, notServing(worker), nowMs)
}

/** A lab that stopped with its machine is started again, once per restart, and again with backoff when that fails. */
function startStopped(session: LabletSession, { worker, isLabStopped, nowMs }: SessionFacts): SessionDecision | null {
  if (worker === null || !isLabStopped || !canStartLabs(worker)) return null
  const restartedAt = restartThatStopped(session, worker)
  const { pipeline } = session
  if (restartedAt === null || pipeline === null) return retryStart(session, nowMs)
  // Retries of earlier restarts must not delay those of this one.
  const again = { ...startedAgain(pipeline), attempt: FIRST_RESTART }
  return startAfterRestart(session, worker, { pipeline: again, restartedAt, nowMs })
}

/** From the first to the second, doubled with every attempt. */
const START_RETRY_MS = [MINUTE_MS, 10 * MINUTE_MS] as const
/** The first attempt was the start of the lab for its session. */
const FIRST_RESTART = 2

/** A start that failed is retried while the slot lasts: a license may be free again, or memory. */
function retryStart({ pipeline, conditions }: LabletSession, nowMs: number): SessionDecision | null {
  const next = pipeline === null ? null : nextStep(pipeline, nowMs)
  const stopped = conditions.find(({ type, status }) => type === LAB_STOPPED && status)
  if (pipeline === null || next?.kind !== 'failed' || stopped?.reason.code !== STOPPED_CODES.failed) return null
  const { ended_at = null, started_at = null } = pipeline.steps[next.step.name] ?? {}
  const endedAt = ended_at ?? started_at
  const [firstMs, longestMs] = START_RETRY_MS
  const pauseMs = Math.min(longestMs, firstMs * 2 ** Math.max(0, pipeline.attempt - FIRST_RESTART))
  const restMs = endedAt === null ? 0 : toMs(endedAt) + pauseMs - nowMs
  if (restMs > 0) return wait(restMs, stopped.reason)
  return write({ pipeline: startedAgain(pipeline) }, reason('lab_restart_retry', { attempt: pipeline.attempt + 1 }))
}

/** The step that failed because nodes did not boot in time; null if none did. */
export function incompleteStart({ pipeline }: LabletSession, nowMs: number): Step | null {
  const next = pipeline?.name === 'instantiate' ? nextStep(pipeline, nowMs) : null
  return next?.kind === 'failed' && next.step.name === CONVERGED ? (pipeline?.steps[CONVERGED] ?? null) : null
}
const CONVERGED = 'converged'

/** Nodes may boot after their time is over. Once all have, the step that waits for them is done again, and completes. */
function judgeNodes(session: LabletSession, { worker, notBooted, nowMs }: SessionFacts): SessionDecision | null {
  const step = incompleteStart(session, nowMs)
  const { pipeline } = session
  if (step === null || pipeline === null || notBooted === null || !canStartLabs(worker)) return null
  const put = (judged: Step, because: Reason) =>
    write({ pipeline: { ...pipeline, steps: { ...pipeline.steps, [CONVERGED]: judged } } }, because)
  const output = { ...step.output, waits_for: notBooted }
  if (notBooted === '') return put(UNTOUCHED, reason('lab_booted'))
  if (step.output.waits_for === notBooted) return null
  const missing = reason('nodes_not_booted', { nodes: notBooted })
  return put({ ...step, status: 'failed', error: missing.message, output }, missing)
}

const stopping = (session: LabletSession, because: Reason, last_error: string | null): SessionDecision =>
  write(
    {
      status: 'STOPPING',
      pipeline: newPipeline('teardown', 1),
      ...(last_error === null ? {} : { last_error }),
      ...(session.waiting_reason === null ? {} : { waiting_reason: null }),
    },
    because,
  )

/** A session without a pipeline never had a lab. */
function decideExpired(session: LabletSession, { nowMs }: SessionFacts): SessionDecision {
  const { pipeline, lab_record_id, state_history } = session
  if (pipeline === null && lab_record_id === null) {
    if (isUnwanted(session)) return write({ status: 'TERMINATED' }, canceled(session))
    const because = neverStarted(session)
    return write({ status: 'TERMINATED', last_error: because.message }, because)
  }
  const wasReady = state_history.some(({ to }) => to === 'READY') && movedAt(session) === null
  const wasUp = wasReady || (pipeline !== null && nextStep(pipeline, nowMs).kind === 'done')
  return stopping(session, reason('timeslot_over'), wasUp ? null : neverReady(session))
}

function decideTeardown({ pipeline }: LabletSession, { nowMs }: SessionFacts): SessionDecision {
  if (pipeline === null || pipeline.name !== 'teardown')
    return write({ pipeline: newPipeline('teardown', 1) }, reason('tearing_down_lab'))
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done') return write({ status: 'STOPPED' }, reason('lab_torn_down'))
  return stepOf(next)
}

/** ARCHIVED if the session ended as planned; TERMINATED if it failed or was canceled. */
function decideStopped(session: LabletSession): SessionDecision {
  const { last_error } = session
  if (last_error !== null) return write({ status: 'TERMINATED' }, reason('session_failed', { error: last_error }))
  return isUnwanted(session)
    ? write({ status: 'TERMINATED' }, canceled(session))
    : write({ status: 'ARCHIVED' }, reason('session_completed'))
}
