import { type Instant, toInstant, toMs } from '../instant.ts'
import type { BootCondition } from '../worker/boot.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import {
  restartThatStopped,
  restartWhileStarting,
  restartWords,
  startedAgain,
  stoppedByRestart,
  withLabStopped,
} from './lab-restart.ts'
import type { LabletSession, Pipeline, SessionStatus } from './lablet-session.ts'
import { blocked, type NextStep, newPipeline, nextStep } from './pipeline.ts'

const MINUTE_MS = 60_000
/** A worker that is away for longer than this counts as lost. */
export const WORKER_LOST_MS = 10 * MINUTE_MS
export const INSTANTIATE_ATTEMPTS_MAX = 3
const LOOK_AGAIN_MS = 5_000

/** What a controller may say of a session; what is not named stays. */
export interface SessionChanges {
  readonly status?: SessionStatus
  readonly pipeline?: Pipeline | null
  readonly worker_id?: null
  readonly last_error?: string | null
  readonly waiting_reason?: string | null
  readonly conditions?: LabletSession['conditions']
}

export type SessionAction =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  /** The next look follows at once. */
  | { readonly kind: 'write'; readonly changes: SessionChanges }
  /** One step of the pipeline is begun, carried out or judged. */
  | { readonly kind: 'step'; readonly next: Exclude<NextStep, { kind: 'rest' | 'done' }> }

export interface SessionDecision {
  readonly action: SessionAction
  readonly because: string
}

export interface SessionSight {
  /** The worker that it is on; null when there is none, or no record of it. */
  readonly worker: Worker | null
  /** Whether its lab was looked for and is gone. */
  readonly isLabGone: boolean
  /** Whether CML says that its lab is stopped. */
  readonly isLabStopped: boolean
  readonly bootLeadMs: number
  readonly nowMs: number
}

const nothing = (because: string): SessionDecision => ({ action: { kind: 'nothing' }, because })
const wait = (afterMs: number, because: string): SessionDecision => ({ action: { kind: 'wait', afterMs }, because })
const write = (changes: SessionChanges, because: string): SessionDecision => ({
  action: { kind: 'write', changes },
  because,
})

/** What the lablet-controller does next with a session. What its owner wants comes first, then its slot, then its lab. */
export function decideSession(session: LabletSession, sight: SessionSight): SessionDecision {
  switch (session.status) {
    case 'PENDING':
      return isUnwanted(session)
        ? write({ status: 'TERMINATED' }, canceled(session))
        : nothing('it is the scheduler that places it')
    case 'SCHEDULED':
      return decideScheduled(session, sight)
    case 'INSTANTIATING':
      return decideInstantiating(session, sight)
    case 'READY':
    case 'RUNNING':
      return decideUp(session, sight)
    case 'EXPIRED':
      return decideExpired(session, sight)
    case 'STOPPING':
      return decideTeardown(session, sight)
    case 'STOPPED':
      return decideStopped(session)
    case 'ARCHIVED':
    case 'TERMINATED':
      return nothing(`${session.status} is final`)
  }
}

const isUnwanted = ({ desired_status }: LabletSession): boolean => desired_status === 'TERMINATED'
const canceled = ({ desired_by, desired_reason }: LabletSession): string =>
  `${desired_by} canceled it${desired_reason === '' ? '' : `: ${desired_reason}`}`

/** Why its worker can't be counted on any more; null while it can. */
export function workerLost(worker: Worker | null, nowMs: number): string | null {
  if (worker === null) return 'its worker is gone'
  if (worker.status === 'TERMINATED') return `${worker.name} is TERMINATED`
  if (lostInMs(worker, nowMs) > 0) return null
  const minutes = WORKER_LOST_MS / MINUTE_MS
  switch (worker.status) {
    case 'RUNNING':
      return `${worker.name} runs, but its CML has not been ready for ${minutes} min`
    case 'DRAINING':
    case 'TERMINATING':
      return `${worker.name} is ${worker.status}, and its CML has not been ready for ${minutes} min`
    case 'STARTING':
      return `EC2 has not let ${worker.name} start for ${minutes} min`
    default:
      return `${worker.name} has been ${worker.status} for ${minutes} min`
  }
}

/** How long until a worker that is away is lost; for ever when it is not away. */
function lostInMs(worker: Worker | null, nowMs: number): number {
  const since = worker === null ? null : awaySince(worker)
  return since === null ? Number.POSITIVE_INFINITY : toMs(since) + WORKER_LOST_MS - nowMs
}

function awaySince(worker: Worker): Instant | null {
  switch (worker.status) {
    case 'STOPPED':
    case 'FAILED':
    case 'UNKNOWN':
      return worker.entered_status_at
    case 'RUNNING':
    case 'DRAINING':
    case 'TERMINATING':
      return worker.service_status === 'AVAILABLE' ? null : silentSince(worker)
    case 'STARTING':
      return blockedSinceOf(worker)
    default:
      return null
  }
}

/** Since when its cloud has no room for it, or something is missing for its launch; null when nothing holds it up. */
export const blockedSinceOf = ({ conditions }: Worker): Instant | null =>
  conditions.find(({ type, status }) => type === CONDITION.blocked && status)?.since ?? null

const silentSince = ({ conditions }: Worker): Instant | null =>
  conditions.find(({ type, status }) => type === CML_READY && !status)?.since ?? null
const CML_READY: BootCondition = 'CmlReady'

/** While it drains or gives its license back CML still serves those who are on it. */
export const canServeLabs = (worker: Worker | null): boolean =>
  worker !== null &&
  worker.service_status === 'AVAILABLE' &&
  (worker.status === 'RUNNING' || worker.status === 'DRAINING' || worker.status === 'TERMINATING')

/** One that drains waits for those that have a place on it. */
const canStartLabs = (worker: Worker | null): boolean => canServeLabs(worker) && worker?.status !== 'TERMINATING'

const notServing = (worker: Worker | null): string => `${worker?.name ?? 'its worker'} does not serve`

function decideScheduled(session: LabletSession, { worker, bootLeadMs, nowMs }: SessionSight): SessionDecision {
  if (isUnwanted(session)) return write({ status: 'TERMINATED' }, canceled(session))
  if (toMs(session.timeslot.end) <= nowMs) return write({ status: 'EXPIRED' }, NEVER_STARTED)
  const dueInMs = toMs(session.timeslot.start) - bootLeadMs - nowMs
  if (dueInMs > 0) return wait(dueInMs, 'its lab is started in time for its slot')
  if (!canStartLabs(worker)) return wait(LOOK_AGAIN_MS, workerLost(worker, nowMs) ?? `${notServing(worker)} yet`)
  return write({ status: 'INSTANTIATING', pipeline: newPipeline('instantiate', 1) }, 'it is time to start its lab')
}

const NEVER_STARTED = 'its time was over before it had a lab'
const NEVER_READY = 'its lab was not ready before its time was over'

function decideInstantiating(session: LabletSession, { worker, nowMs }: SessionSight): SessionDecision {
  if (isUnwanted(session)) return stopping(session, canceled(session), null)
  if (toMs(session.timeslot.end) <= nowMs) return stopping(session, 'its time is over', NEVER_READY)
  // No lab is started any more on one that goes, which may take hours.
  const lost = worker?.status === 'TERMINATING' ? `${worker.name} is TERMINATING` : workerLost(worker, nowMs)
  if (lost !== null)
    return write(
      { status: 'PENDING', worker_id: null, pipeline: null, waiting_reason: lost },
      `${lost}; it is placed anew`,
    )
  const { pipeline } = session
  if (!canStartLabs(worker)) return heldUp(pipeline, notServing(worker), nowMs)
  if (pipeline === null || pipeline.name !== 'instantiate')
    return write({ pipeline: newPipeline('instantiate', 1) }, 'its lab is started')
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done') return write({ status: 'READY', last_error: null }, 'its lab is up')
  const restarted = startOver(pipeline, worker)
  if (restarted !== null) return restarted
  return next.kind === 'failed' ? tryAgain(session, pipeline, next, nowMs) : stepOf(next)
}

/** A lab that went down with its machine while it was coming up is started again at once: no node of it would ever boot. */
function startOver(pipeline: Pipeline, worker: Worker | null): SessionDecision | null {
  const restartedAt = worker === null ? null : restartWhileStarting(pipeline, worker)
  if (worker === null || restartedAt === null) return null
  return write({ pipeline: startedAgain(pipeline) }, restartWords(worker.name, restartedAt))
}

/** Its next step says for what it waits. */
function heldUp(pipeline: Pipeline | null, because: string, nowMs: number): SessionDecision {
  const next = pipeline === null ? null : nextStep(pipeline, nowMs)
  const isStep = next !== null && next.kind !== 'done' && next.kind !== 'failed'
  const held = pipeline !== null && isStep ? blocked(pipeline, next.step, because) : null
  return held === null ? wait(LOOK_AGAIN_MS, because) : write({ pipeline: held }, because)
}

const stepOf = (next: Exclude<NextStep, { kind: 'done' }>): SessionDecision =>
  next.kind === 'rest'
    ? wait(next.afterMs, `step ${next.step.name} is tried again`)
    : { action: { kind: 'step', next }, because: `step ${next.step.name}` }

/** Longer after every attempt. */
const ATTEMPT_REST_MS = 30_000

/** All of it anew, since every step finds what an earlier one has left; after the last attempt it is taken down. */
function tryAgain(
  session: LabletSession,
  { attempt, steps }: Pipeline,
  { step, error }: Extract<NextStep, { kind: 'failed' }>,
  nowMs: number,
): SessionDecision {
  const last_error = `${step.name}: ${error}`
  if (attempt >= INSTANTIATE_ATTEMPTS_MAX)
    return stopping(session, `it failed ${INSTANTIATE_ATTEMPTS_MAX} times, at last at ${last_error}`, last_error)
  const because = `attempt ${attempt} of ${INSTANTIATE_ATTEMPTS_MAX} failed at ${last_error}`
  const endedAt = steps[step.name]?.ended_at ?? null
  const restMs = endedAt === null ? 0 : toMs(endedAt) + ATTEMPT_REST_MS * attempt - nowMs
  if (restMs > 0) return wait(restMs, because)
  return write(
    { pipeline: newPipeline('instantiate', attempt + 1), last_error },
    `attempt ${attempt + 1} begins; ${because}`,
  )
}

function decideUp(session: LabletSession, sight: SessionSight): SessionDecision {
  const { worker, isLabGone, nowMs } = sight
  if (isUnwanted(session)) return stopping(session, canceled(session), null)
  const [startsInMs, endsInMs] = [toMs(session.timeslot.start) - nowMs, toMs(session.timeslot.end) - nowMs]
  if (endsInMs <= 0) return stopping(session, 'its time is over', null)
  const lost = workerLost(worker, nowMs)
  if (lost !== null) return stopping(session, lost, `worker_lost: ${lost}`)
  if (isLabGone) return stopping(session, 'its lab is gone', 'lab_lost: somebody removed its lab')
  const isEarly = session.status === 'READY'
  if (isEarly && startsInMs <= 0) return write({ status: 'RUNNING' }, 'its slot has begun')
  // Once its worker serves again its lab may have to be started again.
  const backInMs = canServeLabs(worker) ? Number.POSITIVE_INFINITY : LOOK_AGAIN_MS
  const untilMs = Math.min(isEarly ? startsInMs : endsInMs, lostInMs(worker, nowMs), backInMs)
  const restart = decideRestart(session, worker, nowMs) ?? restartAfterWorker(session, sight)
  if (restart === null) return wait(untilMs, labDown(worker) ?? (isEarly ? 'waits for its slot' : 'in use'))
  const { action, because } = restart
  return action.kind === 'wait' ? wait(Math.min(untilMs, action.afterMs), because) : restart
}

/** Why its lab can't be used now; null while its worker serves. */
function labDown(worker: Worker | null): string | null {
  if (worker === null || canServeLabs(worker)) return null
  const { name, status, desired_status } = worker
  const isDown = status === 'STOPPING' || status === 'STOPPED' || status === 'STARTING'
  if (!isDown) return `the lab can't be seen: CML on ${name} (${status}) does not answer`
  const isBack = desired_status === 'RUNNING'
  return `the lab is down because its worker ${name} ${isBack ? `is restarting (${status})` : `is ${status}`}`
}

/** A person requested a restart of the lab. If it fails, the session continues and the restart can be requested again. */
function decideRestart({ pipeline }: LabletSession, worker: Worker | null, nowMs: number): SessionDecision | null {
  if (pipeline === null || pipeline.name !== 'instantiate') return null
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done' || next.kind === 'failed') return null
  return canStartLabs(worker)
    ? (startOver(pipeline, worker) ?? stepOf(next))
    : heldUp(pipeline, notServing(worker), nowMs)
}

/** A lab that stopped with its machine is started again, once per restart of the machine, as if its owner had asked for it. */
function restartAfterWorker(
  session: LabletSession,
  { worker, isLabStopped, nowMs }: SessionSight,
): SessionDecision | null {
  const { pipeline, conditions } = session
  if (worker === null || pipeline === null || !isLabStopped || !canStartLabs(worker)) return null
  const restartedAt = restartThatStopped(session, worker)
  if (restartedAt === null) return null
  const stopped = stoppedByRestart(worker, restartedAt, toInstant(nowMs))
  return write({ pipeline: startedAgain(pipeline), conditions: withLabStopped(conditions, stopped) }, stopped.message)
}

const stopping = (session: LabletSession, because: string, last_error: string | null): SessionDecision =>
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
function decideExpired(session: LabletSession, { nowMs }: SessionSight): SessionDecision {
  const { pipeline, lab_record_id, state_history } = session
  if (pipeline === null && lab_record_id === null)
    return isUnwanted(session)
      ? write({ status: 'TERMINATED' }, canceled(session))
      : write({ status: 'TERMINATED', last_error: NEVER_STARTED }, NEVER_STARTED)
  const wasReady = state_history.some(({ to }) => to === 'READY')
  const wasUp = wasReady || (pipeline !== null && nextStep(pipeline, nowMs).kind === 'done')
  return stopping(session, 'its time is over', wasUp ? null : NEVER_READY)
}

function decideTeardown({ pipeline }: LabletSession, { nowMs }: SessionSight): SessionDecision {
  if (pipeline === null || pipeline.name !== 'teardown')
    return write({ pipeline: newPipeline('teardown', 1) }, 'its lab is taken down')
  const next = nextStep(pipeline, nowMs)
  if (next.kind === 'done') return write({ status: 'STOPPED' }, 'its lab has been taken down')
  return stepOf(next)
}

/** How it ended: as planned, or because somebody or something ended it. */
const decideStopped = (session: LabletSession): SessionDecision =>
  isUnwanted(session) || session.last_error !== null
    ? write({ status: 'TERMINATED' }, session.last_error ?? canceled(session))
    : write({ status: 'ARCHIVED' }, 'it ended as planned')
