import { assert } from '../assert.ts'
import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { bootDiffers, bootProgress, bootReached, withBoot } from './boot-stages.ts'
import { factsOf, isEmpty } from './cml-endpoint.ts'
import { decideAccess } from './decision/cml-access.ts'
import { bootChanges, decideCertificate, decideService, probedAgainMs } from './decision/cml-service.ts'
import {
  ageOf,
  announce,
  type Decision,
  hold,
  nothing,
  perform,
  refreshed,
  requeueAfterMs,
  wait,
  withoutRunningConditions,
  write,
} from './decision/decision.ts'
import { decideDraining } from './decision/drain.ts'
import { decideUnreadable, withoutOutage } from './decision/ec2-outage.ts'
import { decideFailed, decideFailedEmpty, failed } from './decision/failure.ts'
import { decidePending } from './decision/launch.ts'
import { decideLicense, decideRelease } from './decision/license-operation.ts'
import { decideMetricsStale } from './decision/metrics-stale-condition.ts'
import { isForeign, ownershipConditions } from './decision/ownership.ts'
import { decideRestarted, withRestart } from './decision/restart.ts'
import { decideDying, decideGone, decideTermination, terminationReason } from './decision/termination.ts'
import { decideUnapproved } from './decision/unapproved.ts'
import { withNameTag } from './drift.ts'
import { EC2_STATES } from './ec2-instance.ts'
import { needsApproval } from './instance-trust.ts'
import { statusOfEc2State } from './lifecycle.ts'
import type { Observation, Seen, WorkerPolicy } from './observation.ts'
import {
  CONDITION,
  type Condition,
  holds,
  type LaunchAttempt,
  type Worker,
  type WorkerChanges,
  withCondition,
  withoutCondition,
} from './worker.ts'

/**
 * What to do with a worker, from its desired status and the observation. Total: every status, desired status and EC2 state has
 * an answer. The desired status comes before anything else, so that a new request does not wait for a boot to finish.
 */
export function decideWorker(worker: Worker, observed: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  const decided = withRestart(worker, withoutRunningConditions(worker, decide(worker, observed, policy, nowMs)), nowMs)
  const hadOutage = holds(worker.conditions, CONDITION.ec2Unreachable)
  const decision = hadOutage ? withoutOutage(worker, observed, decided) : decided
  return worker.refresh_requested_at === null ? decision : refreshed(decision, observed)
}

function decide(worker: Worker, observed: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  if (worker.status === 'TERMINATED') return nothing(reason('terminated_is_final'))
  if (worker.status === 'PENDING') return decidePending(worker, observed, policy, nowMs)
  const { ec2 } = observed
  if (ec2.kind === 'unknown') return decideUnreadable(worker, ec2, nowMs)
  if (ec2.kind === 'absent') return decideAbsent(worker, { ...observed, ec2 }, policy, nowMs)
  const seen = { ...observed, worker, instance: ec2.instance, policy, nowMs }
  return withNameTag(seen, decideDead(seen) ?? decideAlive(seen))
}

function decideAbsent(
  worker: Worker,
  { ec2, launch }: Observation & { ec2: { confirmed: boolean; because: Reason } },
  policy: WorkerPolicy,
  nowMs: number,
): Decision {
  if (!ec2.confirmed) return wait(policy.requeueMsMax, ec2.because)
  if (worker.ec2_instance_id !== null || worker.desired_status === 'TERMINATED') return decideGone(worker, ec2.because)
  switch (worker.status) {
    case 'PROVISIONING':
      return announce({ status: 'PENDING' }, ec2.because)
    case 'STOPPING':
      return announce({ status: 'STOPPED' }, ec2.because)
    case 'TERMINATING':
      return decideGone(worker, ec2.because)
    case 'FAILED':
      if (worker.desired_status === 'STOPPED') return announce({ status: 'PENDING' }, reason('stop_resets_failure'))
      return decideFailedEmpty(worker, launch, policy, nowMs)
    default:
      return nothing(reason('status_without_instance', { status: worker.status, cause: ec2.because }))
  }
}

/** The instance is terminating, terminated or in a state that EC2 never documented. Null when it is alive. */
function decideDead(seen: Seen): Decision | null {
  const { worker, instance, policy, nowMs } = seen
  const { instance_id, state, state_reason } = instance
  const why = reason('instance_state', { instance_id, state, state_reason })
  if (instance.state === 'terminated') return decideTerminated(seen, why)
  if (instance.state === 'shutting-down') {
    const neverRan = worker.status === 'PROVISIONING' && worker.desired_status === 'RUNNING'
    return neverRan
      ? wait(requeueAfterMs(worker, policy, nowMs), why)
      : decideDying(seen, terminationReason(worker, instance))
  }
  if (EC2_STATES.some(known => known === state)) return null
  // A termination does not wait until EC2 reports a known state.
  if (worker.desired_status === 'TERMINATED') return null
  if (worker.status === 'UNKNOWN') return wait(policy.requeueMsMax, why)
  return write({ status: 'UNKNOWN' }, policy.requeueMsMax, why)
}

/** An instance that was terminated before it ever ran is a failed attempt, not the end of the worker. */
function decideTerminated({ worker, instance }: Seen, why: Reason): Decision {
  const { launch } = worker
  if (worker.status !== 'PROVISIONING' || worker.desired_status !== 'RUNNING' || launch === null) {
    return decideGone(worker, terminationReason(worker, instance))
  }
  const spent: LaunchAttempt = { ...launch, state: 'spent', error: why.message }
  const { instance_id, state, state_reason } = instance
  return announce(
    { status: 'PENDING', ec2_instance_id: null, launch: spent },
    reason('instance_lost_before_running', { instance_id, state, state_reason }),
  )
}

function decideAlive(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  if (isForeign(instance, policy)) {
    const because = reason('owned_by_other_fleet', { instance_id: instance.instance_id })
    return hold(worker, { type: CONDITION.notOurs, reason: because }, policy.requeueMsMax, nowMs)
  }
  const conditions = ownershipConditions(seen)
  if (conditions !== null) {
    const ignored = conditions.find(
      each => each.type === CONDITION.endpointIgnored && !worker.conditions.includes(each),
    )
    return announce({ conditions }, ignored?.reason ?? reason('tags_changed'))
  }
  if (worker.desired_status === 'TERMINATED') return decideTermination(seen, requested(worker))
  switch (worker.status) {
    case 'TERMINATING':
      return wait(policy.requeueMsMax, reason('termination_not_requested'))
    case 'STOPPING':
      return decideStopping(seen)
    case 'UNKNOWN':
      return announce(truth(seen), ec2Reports(seen))
    default:
      return worker.desired_status === 'STOPPED' ? decideStop(seen) : decideRun(seen)
  }
}

const ec2Reports = ({ instance: { state } }: Pick<Seen, 'instance'>): Reason => reason('ec2_reports', { state })
const requested = ({ desired_by: by, desired_status: status, desired_reason }: Worker): Reason =>
  reason('requested_by', { by, status, reason: desired_reason })

/** STOPPING can't be reverted: it ends in STOPPED, from where a new request starts the instance again. */
function decideStopping(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  const overdue = ageOf(worker, nowMs) > policy.stoppingMsMax
  switch (instance.state) {
    case 'stopped':
      return write(truth(seen), worker.desired_status === 'STOPPED' ? null : 0, ec2Reports(seen))
    case 'running':
      return decideRelease(seen) ?? perform({ kind: 'stop', force: overdue }, ec2Reports(seen))
    case 'stopping':
      if (bootDiffers(worker.conditions, 0) || holds(worker.conditions, CONDITION.stopBlocked))
        return announce({ conditions: withBoot(unblocked(worker), 0, nowMs) }, ec2Reports(seen))
      if (overdue) return perform({ kind: 'stop', force: true }, reason('stop_overdue'))
      return wait(requeueAfterMs(worker, policy, nowMs), ec2Reports(seen))
    default:
      return wait(requeueAfterMs(worker, policy, nowMs), reason('not_stoppable_yet', { state: instance.state }))
  }
}

function decideStop(seen: Seen): Decision {
  const { worker, instance, policy } = seen
  if (worker.status === 'STOPPED') {
    const drift = factsOf(worker, instance, policy.cmlAddress)
    if (instance.state === 'stopped' && !isEmpty(drift))
      return write(drift, null, reason('ec2_facts_changed', { fields: Object.keys(drift) }))
    if (instance.state === 'stopped') return nothing(reason('at_desired_status', { status: 'STOPPED' }))
    if (instance.state === 'stopping') return wait(policy.requeueMs, ec2Reports(seen))
    return announce(truth(seen), reason('started_outside_lcm', { state: instance.state }))
  }
  if (instance.state === 'stopped') return write(truth(seen), null, ec2Reports(seen))
  return announce({ status: 'STOPPING', service_status: 'UNAVAILABLE' }, requested(worker))
}

function decideRun(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  const isBooting = worker.status === 'STARTING' || worker.status === 'FAILED'
  if (isBooting && instance.state === 'running' && needsApproval(worker)) return decideUnapproved(seen)
  switch (worker.status) {
    case 'FAILED':
      return decideFailed(seen)
    case 'STARTING':
      if (instance.state === 'stopped') return stopsAgain(seen) ?? perform({ kind: 'start' }, requested(worker))
      if (holds(worker.conditions, CONDITION.blocked))
        return announce({ conditions: unblocked(worker) }, reason('start_accepted', { state: instance.state }))
      if (instance.state === 'running') return decideBoot(seen)
      return overdue(seen, policy.startingMsMax) ?? wait(requeueAfterMs(worker, policy, nowMs), ec2Reports(seen))
    case 'RUNNING':
      if (instance.state === 'stopping') return decideStoppingByOthers(seen)
      return instance.state === 'running' ? decideRunning(seen) : announce(truth(seen), ec2Reports(seen))
    case 'DRAINING':
      if (instance.state === 'stopping') return decideStoppingByOthers(seen)
      return instance.state === 'running' ? decideDrain(seen) : announce(truth(seen), ec2Reports(seen))
    case 'STOPPED':
      if (instance.state === 'stopped')
        return announce({ status: 'STARTING', service_status: 'STARTING' }, requested(worker))
      if (instance.state === 'stopping') return wait(policy.requeueMs, ec2Reports(seen))
      return announce(truth(seen), ec2Reports(seen))
    default:
      assert(worker.status === 'PROVISIONING', `${worker.status} is decided elsewhere`)
      return decideProvisioning(seen)
  }
}

/** The instance is being stopped outside LCM. Once it has stopped it is started again. */
function decideStoppingByOthers({ worker, policy }: Seen): Decision {
  const because = reason('stopping_outside_lcm')
  if (worker.service_status === 'UNAVAILABLE') return wait(policy.requeueMs, because)
  return write({ service_status: 'UNAVAILABLE' }, policy.requeueMs, because)
}

function decideProvisioning(seen: Seen): Decision {
  const { worker, instance, policy, nowMs } = seen
  switch (instance.state) {
    case 'running': {
      const conditions = withBoot(worker.conditions, 1, nowMs)
      return announce({ ...truth(seen), status: 'STARTING', service_status: 'STARTING', conditions }, ec2Reports(seen))
    }
    case 'stopped':
      return announce(truth(seen), ec2Reports(seen))
    default:
      return overdue(seen, policy.provisioningMsMax) ?? wait(requeueAfterMs(worker, policy, nowMs), ec2Reports(seen))
  }
}

/** The instance runs; CML comes up in stages and must report ready several times in a row. */
function decideBoot(seen: Seen): Decision {
  const { worker, instance, cml, policy } = seen
  const address = factsOf(worker, instance, policy.cmlAddress)
  if (!isEmpty(address)) return announce(address, reason('address_known'))
  if (cml === null) return overdue(seen, policy.startingMsMax) ?? wait(policy.requeueMs, reason('no_address_yet'))
  const other = decideCertificate(seen)
  if (other !== null) return other
  const changes = bootChanges(seen, cml)
  if (cml.ready_streak >= policy.readyAnswers) {
    return write(
      { ...changes, status: 'RUNNING', service_status: 'AVAILABLE' },
      worker.license.pending_operation === null ? null : 0,
      reason('cml_ready', { version: cml.version }),
    )
  }
  const late = overdue(seen, policy.startingMsMax)
  if (late) return late
  const because = bootProgress(bootReached(cml.stage), cml.detail)
  const afterMs = probedAgainMs(worker, cml, policy)
  if (!isEmpty(changes)) return write(changes, afterMs, because)
  const streak = { name: 'ready_answers', value: cml.ready_streak, limit: policy.readyAnswers, passed: false }
  return wait(afterMs, because, [streak])
}

/** Sessions that are still on a draining worker need its address and its CML. */
function decideDrain(seen: Seen): Decision {
  const { drain } = seen.worker
  if (drain === null) return announce({ status: 'RUNNING' }, reason('drain_canceled'))
  const draining = decideDraining(seen, drain)
  const serving = draining.action.kind === 'wait' ? decideServing(seen) : null
  if (draining.action.kind !== 'wait' || serving === null) return draining
  if (serving.action.kind !== 'wait') return serving
  return { ...draining, action: { kind: 'wait', afterMs: Math.min(serving.action.afterMs, draining.action.afterMs) } }
}

/**
 * Checks in this order: a drain (the desired status was checked before), drift, freshness, access to CML, license, idleness.
 * An idle check may lead to a scale-down.
 */
function decideRunning(seen: Seen): Decision {
  const { drain } = seen.worker
  if (drain !== null) return announce({ status: 'DRAINING' }, reason('drain_requested', { by: drain.by }))
  if (needsApproval(seen.worker)) return decideUnapproved(seen)
  return (
    decideServing(seen) ?? decideMetricsStale(seen) ?? decideAccess(seen) ?? decideInside(seen) ?? decideSurvey(seen)
  )
}

/** The address of the worker and whether it serves there. Null while both are as recorded. */
function decideServing(seen: Seen): Decision | null {
  const { worker, instance, policy } = seen
  const drift = factsOf(worker, instance, policy.cmlAddress)
  if (!isEmpty(drift)) return announce(drift, reason('ec2_facts_changed', { fields: Object.keys(drift) }))
  return needsApproval(worker) ? null : (decideCertificate(seen) ?? decideService(seen) ?? decideRestarted(seen))
}

/** License and node definitions of CML, in one write. */
function decideInside(seen: Seen): Decision | null {
  const { worker, nodeDefinitions } = seen
  const license = decideLicense(seen)
  if (nodeDefinitions === null || nodeDefinitions.join() === worker.cml.node_definitions.join()) return license
  const offered = { cml: { node_definitions: [...nodeDefinitions] } }
  const count = nodeDefinitions.length
  if (license?.action.kind !== 'write')
    return announce(offered, reason('node_definitions_changed', { count, cause: null }))
  const { action } = license
  return {
    ...license,
    action: { ...action, changes: { ...action.changes, ...offered } },
    because: reason('node_definitions_changed', { count, cause: license.because }),
  }
}

const decideSurvey = ({ isSurveyDue }: Seen): Decision =>
  isSurveyDue
    ? perform({ kind: 'survey' }, reason('activity_check_due'))
    : nothing(reason('at_desired_status', { status: 'RUNNING' }))

const unblocked = (worker: Worker): Condition[] =>
  withoutCondition(withoutCondition(worker.conditions, CONDITION.blocked), CONDITION.stopBlocked)

/** The worker status for an EC2 state. A machine that is found running still has to boot its CML. */
function truth({ worker, instance, policy, nowMs }: Seen): WorkerChanges {
  const hasRunBefore = worker.state_history.some(change => change.to === 'STARTING')
  const mayBeFirst = worker.status === 'PROVISIONING' || worker.status === 'UNKNOWN'
  const status = statusOfEc2State(instance.state, hasRunBefore || !mayBeFirst)
  const running = status === 'RUNNING' || status === 'STARTING'
  return {
    ...factsOf(worker, instance, policy.cmlAddress),
    status,
    service_status: running ? 'STARTING' : 'UNAVAILABLE',
    conditions: withBoot(unblocked(worker), instance.state === 'running' ? 1 : 0, nowMs),
  }
}

/** Counted from the last start of the instance too: waiting for capacity must not use up the time to boot. */
function overdue({ worker, instance, nowMs }: Seen, limitMs: number): Decision | null {
  if (needsApproval(worker)) return null
  const ageMs = Math.min(ageOf(worker, nowMs), nowMs - toMs(instance.launched_at))
  return ageMs <= limitMs ? null : timedOut(worker, reason('status_timeout', timeoutOf(worker, limitMs)), nowMs)
}

const timeoutOf = ({ status }: Worker, limitMs: number) => ({ status, minutes: Math.round(limitMs / 60_000) })

/** EC2 accepts every start and the instance stops again, as with a disk that it can't read: no further start would help. */
function stopsAgain({ worker, instance, policy, nowMs }: Seen): Decision | null {
  const hasStarted = toMs(instance.launched_at) > toMs(worker.entered_status_at)
  if (!hasStarted || ageOf(worker, nowMs) <= policy.startingMsMax) return null
  const timeout = { ...timeoutOf(worker, policy.startingMsMax), state_reason: instance.state_reason }
  return timedOut(worker, reason('stops_after_each_start', timeout), nowMs)
}

function timedOut(worker: Worker, because: Reason, nowMs: number): Decision {
  const conditions = withCondition(worker.conditions, failed(because), nowMs)
  return write({ status: 'FAILED', service_status: 'ERROR', conditions }, null, because)
}

/** Whether the poll reconciles the worker. Changes of a worker are always reconciled. */
export function needsAttention(worker: Worker): boolean {
  const { status, desired_status: desired } = worker
  const atRest =
    (status === 'STOPPED' && desired === 'STOPPED') ||
    (status === 'PENDING' && desired === 'STOPPED' && worker.launch?.state !== 'open')
  return status !== 'TERMINATED' && !atRest
}
