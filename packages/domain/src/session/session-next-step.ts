import { type Instant, toInstant, toMs } from '../instant.ts'
import type { DecisionRecord } from '../journal-records.ts'
import {
  type Blockage,
  controllerBlockage,
  type Next,
  type NextWords,
  NOT_DECIDED_YET,
  renderNext,
  type ServiceState,
} from '../next-step.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import type { PlannedAction } from '../service-instance.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import { nextOfWorker } from '../worker/worker-next-step.ts'
import { canServeLabs } from './decide-session.ts'
import { isFinal, LAB_STOPPED, type LabletSession } from './lablet-session.ts'
import { FINAL_SAVE_MS } from './pipeline.ts'
import { positionIn } from './pipeline-position.ts'
import { isLeaving } from './session-move-request.ts'
import { unschedulableBecause } from './unschedulable-reason.ts'

export const SESSION_NEXT_CODES = [
  'idle',
  'place',
  'start_lab',
  'begin',
  'use',
  'restart_lab',
  'manual',
  'move',
  'restore_worker',
  'tear_down',
  'close',
  'cancel',
  'expire',
  'lost',
] as const
export type SessionNextCode = (typeof SESSION_NEXT_CODES)[number]

export interface SessionNextFacts {
  readonly session: LabletSession
  /** The worker of the session; null when there is none, or it could not be read. */
  readonly worker: Worker | null
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
  /** Of the controllers; empty when they could not be read. */
  readonly services: readonly ServiceState[]
  readonly nowMs: number
}

/** What happens next to a session, what blocks that, and since when. `idle` only when it has ended as it should. */
export function nextOfSession(facts: SessionNextFacts): Next<SessionNextCode> {
  const { session, nowMs } = facts
  const next = codeOf(facts)
  const blockedBy = blockageOf(next, facts)
  const dueMs = dueOf(next, facts)
  return {
    next,
    params: { status: session.status },
    blocked_by: blockedBy,
    since: blockedBy?.since ?? null,
    due_at: dueMs !== null && dueMs > nowMs ? toInstant(dueMs) : null,
  }
}

/** The next step, in the order of `decideSession`: desired status, then timeslot, then lab. */
function codeOf(facts: SessionNextFacts): SessionNextCode {
  const { session, nowMs } = facts
  const { status, desired_status, timeslot } = session
  const isUnwanted = desired_status === 'TERMINATED'
  if (isFinal(status)) return status === 'TERMINATED' && !isUnwanted ? 'lost' : 'idle'
  if (status === 'STOPPED') return 'close'
  if (status === 'STOPPING' || status === 'EXPIRED') return 'tear_down'
  const hasNoLab = status === 'PENDING' || status === 'SCHEDULED'
  if (isUnwanted) return hasNoLab ? 'cancel' : 'tear_down'
  if (toMs(timeslot.end) <= nowMs) return hasNoLab ? 'expire' : 'tear_down'
  if (status === 'PENDING') return 'place'
  return status === 'SCHEDULED' || status === 'INSTANTIATING' ? 'start_lab' : codeOfUp(facts)
}

function codeOfUp({ session, worker }: SessionNextFacts): SessionNextCode {
  if (isLeaving(session)) return 'move'
  if (worker !== null && !canServeLabs(worker)) return 'restore_worker'
  const position = positionIn(session)
  if (position !== null && position.step.status !== 'failed') return 'restart_lab'
  // A lab that a user stopped, or that could not be started again, is left to the user.
  if (position !== null || stoppedLab(session) !== undefined) return 'manual'
  return session.status === 'READY' ? 'begin' : 'use'
}

const stoppedLab = ({ conditions }: LabletSession) =>
  conditions.find(({ type, status }) => type === LAB_STOPPED && status)

/** When the next check is due; of a timeslot, when it begins or ends. A person or the machine ends other waits. */
function dueOf(next: SessionNextCode, { session, plan }: SessionNextFacts): number | null {
  if (next === 'manual' || next === 'restore_worker') return null
  if (next === 'begin') return toMs(session.timeslot.start)
  if (next === 'use') return toMs(session.timeslot.end)
  if (next === 'move' && session.move !== null) return toMs(session.move.requested_at) + FINAL_SAVE_MS
  return plan?.due_at == null ? null : toMs(plan.due_at)
}

function blockageOf(next: SessionNextCode, facts: SessionNextFacts): Blockage | null {
  const { session, services, nowMs } = facts
  if (isFinal(session.status)) return waitOf(next, facts)
  const isScheduled = session.status !== 'PENDING' || next === 'cancel'
  const service = isScheduled ? 'lablet-controller' : 'resource-scheduler'
  const state = services.find(each => each.service === service) ?? null
  const lastActAt = facts.decisions.find(each => each.service === service)?.at ?? session.entered_status_at
  return controllerBlockage(state, lastActAt, nowMs) ?? waitOf(next, facts)
}

function waitOf(next: SessionNextCode, facts: SessionNextFacts): Blockage | null {
  const { session } = facts
  const { entered_status_at, last_error, timeslot } = session
  const wait = (code: string, because: Reason, since: Instant = entered_status_at): Blockage => ({
    kind: 'wait',
    code,
    reason: because,
    since,
  })
  switch (next) {
    case 'place':
      return placementWait(facts)
    case 'start_lab':
      return session.status === 'SCHEDULED' ? scheduledWait(facts) : (workerWait(facts) ?? stepWait(facts))
    case 'restore_worker':
      return workerWait(facts)
    case 'restart_lab':
      return stepWait(facts)
    case 'manual':
      return labWait(facts)
    case 'move':
      return wait('LastSave', reason('saving_lab'), session.move?.requested_at)
    case 'tear_down':
      if (session.status === 'STOPPING') return stepWait(facts)
      return wait(NOT_DECIDED_YET, notDecided('lablet-controller'), endOf(session, facts.nowMs))
    case 'cancel':
    case 'close':
      return wait(NOT_DECIDED_YET, notDecided('lablet-controller'), endOf(session, facts.nowMs))
    case 'expire':
      return wait(NOT_DECIDED_YET, reason('timeslot_over_before_lab_start'), timeslot.end)
    case 'lost': {
      const moved = session.state_history.at(-1)?.because ?? reason('no_reason_recorded')
      return { ...wait('Ended', last_error === null ? moved : textReason(last_error)), kind: 'block' }
    }
    case 'idle':
    case 'begin':
    case 'use':
      return null
  }
}

/** Since when it should end: the end of its timeslot, or the last change of its record when a user ends it early. */
const endOf = ({ timeslot, updated_at, desired_status }: LabletSession, nowMs: number): Instant =>
  desired_status === 'RUNNING' && toMs(timeslot.end) <= nowMs ? timeslot.end : updated_at

function placementWait({ session, plan }: SessionNextFacts): Blockage {
  const { waiting_reason, entered_status_at: since } = session
  const lasting = unschedulableBecause(waiting_reason)
  if (lasting !== null) return { kind: 'block', code: 'Unschedulable', reason: lasting, since }
  if (waiting_reason !== null) return { kind: 'block', code: 'NoPlacement', reason: waiting_reason, since }
  return planned(plan, plan?.because ?? notDecided('resource-scheduler'), since)
}

/** A plan that is due later than this is about the start of the timeslot; an earlier one is about the worker. */
const SOON_MS = 10_000

function scheduledWait(facts: SessionNextFacts): Blockage {
  const { session, plan, nowMs } = facts
  const { timeslot, entered_status_at: since, waiting_reason } = session
  const plannedInMs = plan?.due_at == null ? null : toMs(plan.due_at) - nowMs
  const isEarly = plannedInMs === null ? toMs(timeslot.start) > nowMs : plannedInMs > SOON_MS
  if (isEarly) {
    const because = reason('timeslot_not_started', { start: timeslot.start })
    return { kind: 'wait', code: 'BeforeSlot', reason: because, since }
  }
  const held = workerWait(facts)
  if (held !== null) return held
  return planned(plan, waiting_reason ?? plan?.because ?? notDecided('lablet-controller'), since)
}

const planned = (plan: PlannedAction | null, because: Reason, since: Instant): Blockage => ({
  kind: 'wait',
  code: plan === null ? NOT_DECIDED_YET : 'Planned',
  reason: because,
  since,
})

/** Its worker does not serve labs, with what blocks that worker; null while it serves, or is not known. */
function workerWait({ session, worker, services, nowMs }: SessionNextFacts): Blockage | null {
  if (worker === null) {
    if (session.worker_id !== null) return null
    return {
      kind: 'block',
      code: 'NoWorker',
      reason: reason('session_has_no_worker'),
      since: session.entered_status_at,
    }
  }
  if (canServeLabs(worker)) return null
  const controller = services.find(({ service }) => service === 'worker-controller') ?? null
  const { blocked_by: blockedBy } = nextOfWorker({ worker, decisions: [], plan: null, controller, nowMs })
  const cause = blockedBy?.reason ?? reason('cml_status', { status: worker.service_status })
  return {
    kind: blockedBy?.kind ?? 'block',
    code: 'WorkerNotServing',
    reason: reason('worker_unavailable', { worker: worker.name, status: worker.status, cause }),
    since: blockedBy?.since ?? worker.entered_status_at,
  }
}

function labWait(facts: SessionNextFacts): Blockage {
  const stopped = stoppedLab(facts.session)
  if (stopped === undefined) return { ...stepWait(facts), kind: 'block' }
  return { kind: 'block', code: stopped.type, reason: stopped.reason, since: stopped.since }
}

/** The current step of its pipeline, with the refusal of CML or the reason that the step waits. */
function stepWait({ session, worker, decisions }: SessionNextFacts): Blockage {
  const position = positionIn(session)
  const { entered_status_at, pipeline } = session
  if (position === null)
    return {
      kind: 'wait',
      code: 'Step',
      reason: reason('pipeline_between_steps'),
      since: entered_status_at,
    }
  const { step, number, count } = position
  const { booted, nodes } = step.output
  const isUp = step.status === 'running' && typeof booted === 'number' && typeof nodes === 'number'
  const progress = (cause: Reason | null): Reason =>
    reason('pipeline_progress', {
      step: step.name,
      number,
      count,
      attempt: pipeline?.attempt ?? 1,
      booted: isUp ? booted : null,
      nodes: isUp ? nodes : null,
      cause,
    })
  const since = step.started_at ?? step.ended_at ?? entered_status_at
  const refused = worker?.conditions.find(({ type, status }) => type === CONDITION.cmlAccessRefused && status)
  if (refused !== undefined)
    return { kind: 'block', code: refused.type, reason: progress(refused.reason), since: refused.since }
  const code = step.name
  if (step.error !== null) return { kind: 'block', code, reason: progress(textReason(step.error)), since }
  const newest = decisions.find(({ service }) => service === 'lablet-controller')
  if (newest?.action !== 'wait' || newest.at < since) return { kind: 'wait', code, reason: progress(null), since }
  return { kind: 'wait', code, reason: progress(newest.because), since: newest.at }
}

const TEXTS: Readonly<Record<SessionNextCode, (params: Next['params']) => string>> = {
  idle: ({ status }) => `nothing to do: ${status} is final`,
  place: () => 'place it on a worker',
  start_lab: () => 'start its lab',
  begin: () => 'make it RUNNING when its timeslot begins',
  use: () => 'keep its lab up until its timeslot ends',
  restart_lab: () => 'start its lab again',
  manual: () => 'wait for a person to start its lab again',
  move: () => 'move it to another worker after a last save of its work',
  restore_worker: () => 'wait for its worker; if the machine is lost, the session moves to another worker',
  tear_down: () => 'take its lab down',
  close: () => 'close its record',
  cancel: () => 'cancel it',
  expire: () => 'end it as EXPIRED',
  lost: () => "it can't run again: it ended before its time",
}

export const sessionNextText = (next: Next<SessionNextCode>, words: NextWords): string =>
  renderNext(TEXTS[next.next](next.params), next, words, DATED.has(next.next) || DATED.has(next.blocked_by?.code ?? ''))

/** What happens at a known time, and waits that end then. */
const DATED: ReadonlySet<string> = new Set(['begin', 'use', 'BeforeSlot', 'Planned'])

const notDecided = (service: string): Reason => reason('not_decided_yet', { service })
