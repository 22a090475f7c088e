import { assert } from '../assert.ts'
import { toMs } from '../instant.ts'
import { bootDiffers, bootReached, withBoot, withCondition } from './boot.ts'
import { announce, type Decision, nothing, perform, wait, write } from './decision.ts'
import { factsOf, isEmpty } from './facts.ts'
import { EC2_STATES, type Instance } from './instance.ts'
import { decidePending, failed } from './launch.ts'
import { statusOfEc2State } from './lifecycle.ts'
import type { CmlSight, Observation, WorkerPolicy } from './observation.ts'
import type { LaunchAttempt, Worker, WorkerChanges } from './worker.ts'

interface Facts {
  readonly worker: Worker
  readonly instance: Instance
  readonly cml: CmlSight | null
  readonly policy: WorkerPolicy
  readonly nowMs: number
}

/**
 * What to do with a worker, from what is wanted and what was seen. Total: every status, intent and EC2 state has an answer.
 * What is wanted is looked at before anything else, so nobody who changes their mind waits for a boot to finish.
 */
export function decideWorker(worker: Worker, seen: Observation, policy: WorkerPolicy, nowMs: number): Decision {
  if (worker.status === 'TERMINATED') return nothing('TERMINATED is final')
  if (worker.status === 'PENDING') return decidePending(worker, seen, policy, nowMs)
  if (seen.ec2.kind === 'unknown') return wait(policy.lookAgainMs, seen.ec2.because)
  if (seen.ec2.kind === 'absent') return decideAbsent(worker, seen.ec2, policy)
  const facts = { worker, instance: seen.ec2.instance, cml: seen.cml, policy, nowMs }
  return decideDead(facts) ?? decideAlive(facts)
}

function decideAbsent(worker: Worker, sight: { confirmed: boolean; because: string }, policy: WorkerPolicy): Decision {
  if (!sight.confirmed) return wait(policy.lookAgainMsMax, sight.because)
  if (worker.ec2_instance_id !== null || worker.desired_status === 'TERMINATED') {
    return write(gone('TERMINATED'), null, sight.because)
  }
  switch (worker.status) {
    case 'PROVISIONING':
      return announce({ status: 'PENDING' }, sight.because)
    case 'STOPPING':
      return announce({ status: 'STOPPED' }, sight.because)
    case 'TERMINATING':
      return write(gone('TERMINATED'), null, sight.because)
    case 'FAILED':
      if (worker.desired_status === 'STOPPED')
        return announce({ status: 'PENDING' }, 'a stop makes it ready for another start')
      return nothing('it failed before it had a machine; stop and start it to try again, or terminate it')
    default:
      return nothing(`${worker.status} without a machine: ${sight.because}`)
  }
}

const gone = (status: 'TERMINATING' | 'TERMINATED'): WorkerChanges => ({
  status,
  service_status: 'UNAVAILABLE',
  public_ip: null,
  https_endpoint: null,
})

/** The machine is dying, dead or in a state that EC2 never documented. Null when it is alive. */
function decideDead({ worker, instance, policy, nowMs }: Facts): Decision | null {
  const name = `${instance.instance_id} is ${instance.state}`
  const why = instance.state_reason === null ? name : `${name} (${instance.state_reason})`
  if (instance.state === 'terminated') return decideTerminated(worker, why)
  if (instance.state === 'shutting-down') {
    const neverRan = worker.status === 'PROVISIONING' && worker.desired_status === 'RUNNING'
    if (worker.status === 'TERMINATING' || neverRan) return wait(lookAgain(worker, policy, nowMs), why)
    return write(gone('TERMINATING'), policy.lookAgainMs, why)
  }
  if (EC2_STATES.some(state => state === instance.state)) return null
  if (worker.status === 'UNKNOWN') return wait(policy.lookAgainMsMax, why)
  return write({ status: 'UNKNOWN' }, policy.lookAgainMsMax, why)
}

/** A launch that died before it ever ran is a failed attempt, not the end of the worker. */
function decideTerminated(worker: Worker, why: string): Decision {
  const { launch } = worker
  if (worker.status !== 'PROVISIONING' || worker.desired_status !== 'RUNNING' || launch === null) {
    return write(gone('TERMINATED'), null, why)
  }
  const spent: LaunchAttempt = { ...launch, state: 'spent', error: why }
  return announce({ status: 'PENDING', ec2_instance_id: null, launch: spent }, `${why} before it ever ran`)
}

function decideAlive(facts: Facts): Decision {
  const { worker, policy } = facts
  if (worker.desired_status === 'TERMINATED') {
    if (worker.status !== 'TERMINATING')
      return announce({ status: 'TERMINATING', service_status: 'UNAVAILABLE' }, wanted(worker))
    return perform({ kind: 'terminate' }, wanted(worker))
  }
  switch (worker.status) {
    case 'TERMINATING':
      return wait(policy.lookAgainMsMax, 'it was seen dying, and nobody asked for it to be terminated')
    case 'STOPPING':
      return decideStopping(facts)
    case 'UNKNOWN':
      return announce(truth(facts), `EC2 says ${facts.instance.state}`)
    default:
      return worker.desired_status === 'STOPPED' ? decideStop(facts) : decideRun(facts)
  }
}

const wanted = (worker: Worker): string =>
  `${worker.desired_by} wants it ${worker.desired_status}${worker.desired_reason === '' ? '' : `: ${worker.desired_reason}`}`

/** STOPPING has no way back: it ends in STOPPED, from where a changed mind starts it again. */
function decideStopping(facts: Facts): Decision {
  const { worker, instance, policy, nowMs } = facts
  const overdue = ageOf(worker, nowMs) > policy.stoppingMsMax
  switch (instance.state) {
    case 'stopped':
      return write(truth(facts), worker.desired_status === 'STOPPED' ? null : 0, 'EC2 says stopped')
    case 'running':
      return perform({ kind: 'stop', force: overdue }, 'EC2 says running')
    case 'stopping':
      if (overdue) return perform({ kind: 'stop', force: true }, 'it has been stopping for too long')
      return wait(lookAgain(worker, policy, nowMs), 'EC2 says stopping')
    default:
      return wait(lookAgain(worker, policy, nowMs), `EC2 says ${instance.state}, which can not be stopped yet`)
  }
}

function decideStop(facts: Facts): Decision {
  const { worker, instance, policy } = facts
  if (worker.status === 'STOPPED') {
    if (instance.state === 'stopped') return nothing('stopped, as wanted')
    if (instance.state === 'stopping') return wait(policy.lookAgainMs, 'EC2 says stopping')
    return announce(truth(facts), `somebody started it: EC2 says ${instance.state}`)
  }
  if (instance.state === 'stopped') return write(truth(facts), null, 'EC2 says stopped')
  return announce({ status: 'STOPPING', service_status: 'UNAVAILABLE' }, wanted(worker))
}

function decideRun(facts: Facts): Decision {
  const { worker, instance, policy, nowMs } = facts
  switch (worker.status) {
    case 'FAILED':
      return nothing('it failed; terminate it, or stop and start it')
    case 'STARTING':
      if (instance.state === 'stopped') return perform({ kind: 'start' }, wanted(worker))
      if (instance.state === 'running') return decideBoot(facts)
      return (
        overdue(facts, policy.startingMsMax) ?? wait(lookAgain(worker, policy, nowMs), `EC2 says ${instance.state}`)
      )
    case 'RUNNING':
      if (instance.state === 'stopping') return decideStoppingByOthers(facts)
      return instance.state === 'running' ? decideRunning(facts) : announce(truth(facts), `EC2 says ${instance.state}`)
    case 'DRAINING':
      return announce({ status: 'RUNNING' }, 'no drain is asked for')
    case 'STOPPED':
      if (instance.state === 'stopped')
        return announce({ status: 'STARTING', service_status: 'STARTING' }, wanted(worker))
      if (instance.state === 'stopping') return wait(policy.lookAgainMs, 'EC2 says stopping')
      return announce(truth(facts), `EC2 says ${instance.state}`)
    default:
      assert(worker.status === 'PROVISIONING', `${worker.status} is decided elsewhere`)
      return decideProvisioning(facts)
  }
}

/** Somebody stops it behind our back. It is not ours to help: once it has stopped it is started again. */
function decideStoppingByOthers({ worker, policy }: Facts): Decision {
  const because = 'EC2 says stopping, which nobody here asked for'
  if (worker.service_status === 'UNAVAILABLE') return wait(policy.lookAgainMs, because)
  return write({ service_status: 'UNAVAILABLE' }, policy.lookAgainMs, because)
}

function decideProvisioning(facts: Facts): Decision {
  const { worker, instance, policy, nowMs } = facts
  switch (instance.state) {
    case 'running': {
      const conditions = withBoot(worker.conditions, 1, nowMs)
      return announce(
        { ...truth(facts), status: 'STARTING', service_status: 'STARTING', conditions },
        'EC2 says running',
      )
    }
    case 'stopped':
      return announce(truth(facts), 'EC2 says stopped')
    default:
      return (
        overdue(facts, policy.provisioningMsMax) ?? wait(lookAgain(worker, policy, nowMs), `EC2 says ${instance.state}`)
      )
  }
}

/** The machine runs; CML comes up by stages and must say that it is ready several times in a row. */
function decideBoot(facts: Facts): Decision {
  const { worker, instance, cml, policy } = facts
  const seen = factsOf(worker, instance)
  if (!isEmpty(seen)) return announce(seen, 'its address became known')
  if (cml === null) return overdue(facts, policy.startingMsMax) ?? wait(policy.lookAgainMs, 'it has no address yet')
  const changes = bootChanges(facts, cml)
  if (cml.ready_streak >= policy.readyAnswers) {
    return write(
      { ...changes, status: 'RUNNING', service_status: 'AVAILABLE' },
      null,
      `CML ${cml.version ?? ''} is ready`,
    )
  }
  const late = overdue(facts, policy.startingMsMax)
  if (late) return late
  if (!isEmpty(changes))
    return write(changes, policy.probeIntervalMs, cml.detail === '' ? `CML reached ${cml.stage}` : cml.detail)
  const streak = { name: 'ready_answers', value: cml.ready_streak, limit: policy.readyAnswers, passed: false }
  return wait(policy.probeIntervalMs, cml.detail === '' ? 'CML must stay ready' : cml.detail, [streak])
}

function bootChanges({ worker, nowMs }: Facts, cml: CmlSight): WorkerChanges {
  const reached = bootReached(cml.stage)
  const known = {
    version: cml.version ?? worker.cml.version,
    certificate_sha256: worker.cml.certificate_sha256 ?? cml.certificate_sha256,
  }
  const cmlChanged = known.version !== worker.cml.version || known.certificate_sha256 !== worker.cml.certificate_sha256
  return {
    ...(bootDiffers(worker.conditions, reached) ? { conditions: withBoot(worker.conditions, reached, nowMs) } : {}),
    ...(cmlChanged ? { cml: known } : {}),
  }
}

/** At rest unless the machine drifted, or was found running and CML has not been seen ready since. */
function decideRunning(facts: Facts): Decision {
  const { worker, instance, cml, policy } = facts
  const drift = factsOf(worker, instance)
  if (!isEmpty(drift)) return announce(drift, `EC2 shows another ${Object.keys(drift).join(', ')}`)
  if (worker.service_status === 'AVAILABLE') return nothing('running, as wanted')
  if (cml === null) return wait(policy.probeIntervalMs, 'it has no address yet')
  const changes = bootChanges(facts, cml)
  if (cml.ready_streak >= policy.readyAnswers)
    return write({ ...changes, service_status: 'AVAILABLE' }, null, 'CML is ready')
  if (!isEmpty(changes)) return write(changes, policy.probeIntervalMs, `CML reached ${cml.stage}`)
  return wait(policy.probeIntervalMs, cml.detail === '' ? 'CML must stay ready' : cml.detail)
}

/** What EC2 shows, as a status of ours with what goes with it. A machine found running still has to show its CML. */
function truth({ worker, instance, nowMs }: Facts): WorkerChanges {
  const hasRunBefore = worker.state_history.some(change => change.to === 'STARTING')
  const status = statusOfEc2State(instance.state, hasRunBefore || worker.status !== 'PROVISIONING')
  const running = status === 'RUNNING' || status === 'STARTING'
  return {
    ...factsOf(worker, instance),
    status,
    service_status: running ? 'STARTING' : 'UNAVAILABLE',
    conditions: withBoot(worker.conditions, instance.state === 'running' ? 1 : 0, nowMs),
  }
}

/** Counted from the machine's last start too: waiting for capacity must not use up the time to boot. */
function overdue({ worker, instance, nowMs }: Facts, limitMs: number): Decision | null {
  const ageMs = Math.min(ageOf(worker, nowMs), nowMs - toMs(instance.launched_at))
  if (ageMs <= limitMs) return null
  const message = `${worker.status} for more than ${Math.round(limitMs / 60_000)} minutes`
  const conditions = withCondition(worker.conditions, failed('timeout', message), nowMs)
  return write({ status: 'FAILED', service_status: 'ERROR', conditions }, null, message)
}

const ageOf = (worker: Worker, nowMs: number): number => nowMs - toMs(worker.entered_status_at)

/** Young changes are looked at often, old ones less so. */
export const lookAgain = (worker: Worker, policy: WorkerPolicy, nowMs: number): number =>
  Math.min(policy.lookAgainMsMax, Math.max(policy.lookAgainMs, ageOf(worker, nowMs) / 4))

/** Whether a routine look is worth it. News about a worker is always looked at. */
export function needsAttention(worker: Worker): boolean {
  const { status, desired_status: desired } = worker
  const atRest =
    (status === 'STOPPED' && desired === 'STOPPED') ||
    (status === 'FAILED' && desired === 'RUNNING') ||
    (status === 'PENDING' && desired === 'STOPPED' && worker.launch?.state !== 'open')
  return status !== 'TERMINATED' && !atRest
}
