import { toInstant, toMs } from '../instant.ts'
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
import { BOOT_CONDITIONS } from './boot-stages.ts'
import { endOf, sessionsOn } from './decision/drain.ts'
import { hasRun, retryDueMs } from './decision/failure.ts'
import { approvalRequired, awaitsApproval } from './instance-trust.ts'
import { WORKER_POLICY } from './observation.ts'
import { CONDITION, holds, type Worker } from './worker.ts'

export const WORKER_NEXT_CODES = [
  'idle',
  'launch',
  'boot',
  'serve',
  'license',
  'drain',
  'end_drain',
  'start',
  'restart',
  'stop',
  'terminate',
  'identify',
  'retry',
  'hold',
  'manual',
  'lost',
] as const
export type WorkerNextCode = (typeof WORKER_NEXT_CODES)[number]

export interface WorkerNextFacts {
  readonly worker: Worker
  /** Newest first. */
  readonly decisions: readonly DecisionRecord[]
  readonly plan: PlannedAction | null
  /** The worker-controller; null when it could not be read. */
  readonly controller: ServiceState | null
  readonly nowMs: number
}

const CONTROLLER = 'worker-controller'

/** What happens next to a worker, what blocks that, and since when. `idle` only while every request is fulfilled. */
export function nextOfWorker(facts: WorkerNextFacts): Next<WorkerNextCode> {
  const { worker, plan, nowMs } = facts
  const next = codeOf(worker)
  const blockedBy = blockageOf(next, facts)
  const retryMs = next === 'retry' ? retryDueMs(worker, WORKER_POLICY) : null
  const plannedMs = plan?.due_at == null ? null : toMs(plan.due_at)
  const dueMs = retryMs ?? plannedMs
  return {
    next,
    params: paramsOf(worker),
    blocked_by: blockedBy,
    since: blockedBy?.since ?? null,
    due_at: dueMs !== null && dueMs > nowMs ? toInstant(dueMs) : null,
  }
}

/** Whether a request is open although a controller finds nothing to do: only an operator can change that. `hold` was requested. */
export function isManual(worker: Worker): boolean {
  const next = codeOf(worker)
  return next !== 'idle' && next !== 'hold'
}

/** The next step, from status and desired status alone, in the order of `decideWorker`. */
function codeOf(worker: Worker): WorkerNextCode {
  const { status, desired_status: desired } = worker
  if (status === 'TERMINATED') return desired === 'TERMINATED' ? 'idle' : 'lost'
  if (desired === 'TERMINATED') return 'terminate'
  switch (status) {
    case 'PENDING':
      return desired === 'RUNNING' ? 'launch' : 'hold'
    case 'TERMINATING':
      return 'lost'
    case 'UNKNOWN':
      return 'identify'
    case 'STOPPED':
      return desired === 'RUNNING' ? 'start' : atRest(worker)
    case 'STOPPING':
      return desired === 'RUNNING' ? 'restart' : 'stop'
    case 'FAILED':
      return desired === 'RUNNING' ? codeOfFailed(worker) : 'stop'
    default:
      return desired === 'RUNNING' ? codeOfRun(worker) : 'stop'
  }
}

function codeOfRun(worker: Worker): WorkerNextCode {
  const { status, drain, service_status } = worker
  if (status === 'PROVISIONING' || status === 'STARTING') return 'boot'
  if (status === 'DRAINING') return drain === null ? 'end_drain' : 'drain'
  if (drain !== null) return 'drain'
  return service_status === 'AVAILABLE' ? atRest(worker) : 'serve'
}

/** It has its desired status; a license operation may still be open. */
const atRest = ({ license }: Worker): WorkerNextCode => (license.pending_operation === null ? 'idle' : 'license')

function codeOfFailed(worker: Worker): WorkerNextCode {
  if (retryDueMs(worker, WORKER_POLICY) !== null) return 'retry'
  const isRemoved = worker.origin === 'SCALE_UP' && !worker.protected && !hasRun(worker)
  return isRemoved && worker.ec2_instance_id !== null ? 'terminate' : 'manual'
}

const paramsOf = (worker: Worker): Next['params'] => ({
  status: worker.status,
  desired: worker.desired_status,
  ...(worker.drain === null ? {} : { drain_end: endOf(worker, worker.drain) }),
  ...(worker.license.pending_operation === null ? {} : { license: worker.license.pending_operation }),
  ...(worker.failures === 0 ? {} : { retry: `${worker.failures} of ${WORKER_POLICY.retryAfterMs.length}` }),
})

function blockageOf(next: WorkerNextCode, facts: WorkerNextFacts): Blockage | null {
  const { worker, controller, nowMs } = facts
  // TERMINATED is final whether or not a controller runs.
  if (worker.status === 'TERMINATED') return waitOf(next, facts)
  const lastActAt = ofController(facts)[0]?.at ?? worker.entered_status_at
  return (
    controllerBlockage(controller, lastActAt, nowMs) ??
    conditionBlockage(EVERY_STEP, worker) ??
    observationBlockage(facts) ??
    approvalBlockage(next, worker) ??
    conditionBlockage(isAbout(next, worker) ? (BLOCKS[next] ?? []) : [], worker) ??
    waitOf(next, facts) ??
    (next === 'idle' ? null : decisionWait(facts))
  )
}

/** Whatever is next: EC2 can't be read, or the instance belongs to another fleet. */
const EVERY_STEP: readonly string[] = [CONDITION.ec2Unreachable, CONDITION.notOurs]
/** Conditions that block one next step, the most specific first. */
const BLOCKS: Partial<Record<WorkerNextCode, readonly string[]>> = {
  idle: [CONDITION.certificateChanged, CONDITION.cmlAccessRefused],
  launch: [CONDITION.blocked],
  boot: [CONDITION.blocked],
  serve: [CONDITION.certificateChanged, CONDITION.cmlAccessRefused],
  license: [CONDITION.cmlAccessRefused],
  restart: [CONDITION.stopBlocked],
  stop: [CONDITION.stopBlocked],
  terminate: [CONDITION.terminateBlocked, CONDITION.blocked, CONDITION.returningLicense, CONDITION.overdue],
  retry: [CONDITION.failed],
  hold: [CONDITION.held],
  manual: [CONDITION.failed],
}
/** Before it is TERMINATING, such a condition is about something else, such as its launch; and only a CML that runs is asked. */
const isAbout = (next: WorkerNextCode, { status }: Worker): boolean =>
  next === 'terminate' ? status === 'TERMINATING' : next !== 'idle' || status === 'RUNNING'

const ENDS_BY_ITSELF: readonly string[] = [CONDITION.held, CONDITION.returningLicense]

/** The first of these that holds. */
function conditionBlockage(types: readonly string[], { conditions }: Worker): Blockage | null {
  const [found] = types.flatMap(type => conditions.filter(each => each.type === type && each.status))
  if (found === undefined) return null
  const kind = ENDS_BY_ITSELF.includes(found.type) ? 'wait' : 'block'
  return { kind, code: found.type, reason: found.reason, since: found.since }
}

/** Steps that LCM takes only with a trusted instance. */
const NEEDS_TRUST: readonly WorkerNextCode[] = ['idle', 'boot', 'serve', 'license']

function approvalBlockage(next: WorkerNextCode, worker: Worker): Blockage | null {
  if (!NEEDS_TRUST.includes(next) || !isAbout(next, worker) || !awaitsApproval(worker)) return null
  return { kind: 'block', code: 'ApprovalRequired', reason: approvalRequired(worker), since: worker.created_at }
}

/** What the newest decisions of the controller observed of EC2: no answer, or no instance. Since the first in an unbroken row. */
function observationBlockage(facts: WorkerNextFacts): Blockage | null {
  const decisions = ofController(facts)
  const [newest] = decisions
  const ec2 = newest?.seen.ec2
  const isAbsent = ec2 === 'absent' && facts.worker.status !== 'PENDING'
  if (newest === undefined || (ec2 !== 'unknown' && !isAbsent)) return null
  const end = decisions.findIndex(({ seen }) => seen.ec2 !== ec2)
  const first = decisions[(end === -1 ? decisions.length : end) - 1] ?? newest
  const code = isAbsent ? 'InstanceNotVisible' : CONDITION.ec2Unreachable
  return { kind: 'block', code, reason: newest.because, since: first.at }
}

/** The idle policy and others decide about a worker too; only the controller reads EC2. */
const ofController = ({ decisions }: WorkerNextFacts): DecisionRecord[] =>
  decisions.filter(({ service, seen }) => service === CONTROLLER && seen.ec2 !== undefined)

/** What an unblocked step waits for, as far as the record itself says. */
function waitOf(next: WorkerNextCode, { worker }: WorkerNextFacts): Blockage | null {
  const { status, entered_status_at, state_history } = worker
  const wait = (code: string, because: Reason): Blockage => ({
    kind: 'wait',
    code,
    reason: because,
    since: entered_status_at,
  })
  const because = state_history.at(-1)?.because ?? reason('no_reason_recorded')
  switch (next) {
    case 'launch':
      return launchWait(worker)
    case 'boot':
    case 'serve':
      return bootWait(worker)
    case 'license':
      return licenseWait(worker)
    case 'drain':
      return drainWait(worker)
    case 'stop':
    case 'restart':
      return status === 'STOPPING' ? wait('InstanceStopping', reason('waiting_for_ec2', { state: 'stopped' })) : null
    case 'terminate':
      if (worker.launch?.state === 'open') return launchWait(worker)
      return status === 'TERMINATING'
        ? wait('InstanceTerminating', reason('waiting_for_ec2', { state: 'terminated' }))
        : null
    case 'hold':
      if (worker.launch?.state === 'open') return launchWait(worker)
      return wait(CONDITION.held, reason('stopped_before_launch'))
    case 'identify':
      return { ...wait('UnknownEc2State', because), kind: 'block' }
    case 'retry':
    case 'manual':
      return { ...wait(CONDITION.failed, because), kind: 'block' }
    case 'lost': {
      const isOver = status === 'TERMINATED'
      return { ...wait(isOver ? 'InstanceLost' : 'InstanceTerminating', because), kind: 'block' }
    }
    case 'idle':
    case 'start':
    case 'end_drain':
      return null
  }
}

function launchWait({ launch, entered_status_at }: Worker): Blockage | null {
  if (launch === null) return null
  const { n, state, error, requested_at: since } = launch
  if (state === 'open')
    return { kind: 'wait', code: 'LaunchAttempt', reason: reason('launch_attempt_open', { attempt: n }), since }
  if (error === null) return null
  return {
    kind: 'block',
    code: 'LaunchAttempt',
    reason: reason('launch_attempt_closed', { attempt: n, state, error }),
    since: since > entered_status_at ? since : entered_status_at,
  }
}

function bootWait({ conditions, entered_status_at }: Worker): Blockage {
  const missing = BOOT_CONDITIONS.findIndex(type => !holds(conditions, type))
  if (missing === -1)
    return {
      kind: 'wait',
      code: 'CmlReady',
      reason: reason('cml_settling'),
      since: entered_status_at,
    }
  const type = BOOT_CONDITIONS[missing] ?? 'CmlReady'
  const found = conditions.find(each => each.type === type)
  const because = found?.reason ?? reason('boot_stage_waiting', { stage: type, detail: '' })
  // The missing condition may be older; the boot waits for it since the one before it holds.
  const before = conditions.find(each => each.type === BOOT_CONDITIONS[missing - 1])
  const since = [entered_status_at, found?.since, before?.since]
    .flatMap(each => each ?? [])
    .toSorted()
    .at(-1)
  return { kind: 'wait', code: type, reason: because, since: since ?? entered_status_at }
}

function licenseWait({ license, status, entered_status_at }: Worker): Blockage {
  const { last_error, operation_started_at } = license
  if (status !== 'RUNNING')
    return {
      kind: 'wait',
      code: 'NotRunning',
      reason: reason('worker_not_running', { status }),
      since: entered_status_at,
    }
  const since = operation_started_at ?? entered_status_at
  if (last_error !== null) return { kind: 'block', code: 'LicenseOperation', reason: textReason(last_error), since }
  return { kind: 'wait', code: 'LicenseOperation', reason: reason('license_not_confirmed'), since }
}

function drainWait(worker: Worker): Blockage | null {
  const { drain } = worker
  if (drain === null) return null
  const isSpared = endOf(worker, drain) !== drain.then
  const because = reason('drain_deadline', {
    sessions: sessionsOn(worker),
    deadline: drain.deadline,
    spared: isSpared ? drain.then : null,
  })
  return { kind: 'wait', code: 'Draining', reason: because, since: drain.requested_at }
}

/** The newest decision about this request, else what the controller plans; or that it has not decided yet. */
function decisionWait(facts: WorkerNextFacts): Blockage {
  const { desired_status, status, desired_at, entered_status_at } = facts.worker
  const [newest] = ofController(facts)
  const isAboutThis = newest?.seen.desired_status === desired_status && newest.seen.status === status
  if (isAboutThis) return { kind: 'wait', code: 'Decision', reason: newest.because, since: newest.at }
  const since = desired_at !== null && desired_at > entered_status_at ? desired_at : entered_status_at
  const { plan } = facts
  if (plan?.action === 'wait' || plan?.action === 'retry')
    return { kind: 'wait', code: 'Planned', reason: plan.because, since }
  return { kind: 'wait', code: NOT_DECIDED_YET, reason: reason('not_decided_yet', { service: CONTROLLER }), since }
}

const TEXTS: Readonly<Record<WorkerNextCode, (params: Next['params']) => string>> = {
  idle: ({ status }) => `nothing to do: ${status}, as requested`,
  launch: () => 'launch its instance',
  boot: () => 'finish its boot',
  serve: () => 'wait for its CML to be ready',
  license: ({ license }) => `${license} its license`,
  drain: ({ drain_end }) => `let its sessions end, then make it ${drain_end}`,
  end_drain: () => 'make it RUNNING again, because its drain was canceled',
  start: () => 'start its instance',
  restart: () => 'finish the stop of its instance, then start it again',
  stop: () => 'stop its instance',
  terminate: () => 'terminate its instance',
  identify: () => 'wait until EC2 reports a state that LCM knows',
  retry: ({ retry }) => `retry automatically (${retry})`,
  hold: () => 'launch its instance once a person starts it',
  manual: () => 'wait for a person: LCM does not retry automatically',
  lost: ({ desired }) => `it can't be ${desired} again: its instance is gone`,
}

export function workerNextText(next: Next<WorkerNextCode>, words: NextWords): string {
  const hasProblem = next.next === 'idle' && next.blocked_by !== null
  const what = hasProblem ? `${next.params.status}, as requested` : TEXTS[next.next](next.params)
  return renderNext(what, next, words, next.next === 'retry')
}
