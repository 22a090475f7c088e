import { type Reason, reason } from '../../reason.ts'
import type { Instance } from '../ec2-instance.ts'
import { isTrusted } from '../instance-trust.ts'
import type { Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, holds, type Worker, type WorkerChanges, withCondition, withoutCondition } from '../worker.ts'
import { announce, type Decision, hold, perform, requeueAfterMs, wait, write } from './decision.ts'
import {
  doubtOf,
  giveBack,
  holdsLicense,
  holdsNothing,
  identityIn,
  leakInDoubt,
  leakLicense,
  licenseLost,
  licenseState,
  type SeenLicense,
} from './license-operation.ts'
import { isOurs, oursForMs } from './ownership.ts'

/** Clears the fields of a worker whose machine is terminating or gone. */
export const gone = (status: 'TERMINATING' | 'TERMINATED'): WorkerChanges => ({
  status,
  service_status: 'UNAVAILABLE',
  public_ip: null,
  https_endpoint: null,
})

/** Why an instance is terminating or terminated, with the initiator as far as EC2 reports it. */
export function terminationReason(worker: Worker, { instance_id, state, state_reason }: Instance): Reason {
  const about = { instance_id, state }
  if (worker.desired_status === 'TERMINATED') return reason('termination_confirmed', about)
  if (state_reason === 'Client.UserInitiatedShutdown') return reason('terminated_outside_lcm', about)
  if (state_reason === 'Client.InstanceInitiatedShutdown') return reason('terminated_by_shutdown', about)
  if (state_reason?.startsWith('Server.')) return reason('terminated_by_aws', { ...about, state_reason })
  return reason('terminated_unexpectedly', about)
}

/** The instance is gone, so its license can't be returned any more: that is recorded before anything else. */
export const decideGone = (worker: Worker, because: Reason): Decision =>
  holdsLicense(worker) ? leakLicense(licenseLost(worker, because)) : write(gone('TERMINATED'), null, because)

/**
 * Termination on request. Announced first; then, in this order: check the ownership, return the license, and only then terminate the
 * machine. While the license is returned CML keeps serving, but no session is placed on it.
 */
export function decideTermination(seen: Seen, because: Reason): Decision {
  const { worker, instance, policy, nowMs } = seen
  if (worker.status !== 'TERMINATING') return announce({ status: 'TERMINATING' }, because)
  if (!isOurs(worker, instance, policy)) {
    const missing = reason('ownership_tag_missing', { instance_id: instance.instance_id })
    return hold(worker, { type: CONDITION.notOurs, reason: missing }, policy.requeueMsMax, nowMs)
  }
  if (holdsLicense(worker)) return decideReturn(seen)
  return decideFoundLicense(seen) ?? decideDestruction(seen, because)
}

/** A license that was registered outside LCM is recorded first, so that it is returned or recorded as leaked like any other. */
function decideFoundLicense({ worker, license, policy, nowMs }: Seen): Decision | null {
  if (license?.kind !== 'seen' || holdsNothing(license)) return null
  const isOnRecord = oursForMs(worker, nowMs) > policy.returnLicenseMsMax && worker.license.last_error !== null
  if (isOnRecord) return null
  return announce({ license: { status: 'REGISTERED', ...identityIn(license) } }, licenseState(license))
}

/** A license is returned before its instance is terminated, or it is recorded as leaked. */
function decideReturn(seen: Seen): Decision {
  const { worker, instance, policy, license, nowMs } = seen
  if (oursForMs(worker, nowMs) > policy.returnLicenseMsMax)
    return leakLicense(reason('license_return_timeout', { hours: hoursToReturn(policy) }))
  const waiting = (because: Reason): Decision =>
    hold(worker, { type: CONDITION.returningLicense, reason: because }, requeueAfterMs(worker, policy, nowMs), nowMs)
  switch (instance.state) {
    case 'stopped':
      if (policy.licenseOnTerminate === 'record') return leakLicense(reason('license_of_stopped_worker'))
      // A boot would cost money and return nothing.
      if (!isTrusted(worker)) return waiting(withoutApproval(seen))
      return perform({ kind: 'start' }, reason('license_return_needs_boot'))
    case 'running':
      if (!isTrusted(worker)) return waiting(withoutApproval(seen))
      if (license === null) return waiting(reason('no_address_yet'))
      if (license.kind === 'unknown') return decideFirstObservation(seen) ?? waiting(license.because)
      return decideSeenReturn(seen, license)
    default:
      return waiting(reason('ec2_reports', { state: instance.state }))
  }
}

const hoursToReturn = ({ returnLicenseMsMax }: WorkerPolicy): number => returnLicenseMsMax / 3_600_000
const withoutApproval = ({ worker, policy }: Seen): Reason =>
  reason('license_return_needs_approval', { worker_id: worker.id, hours: hoursToReturn(policy) })

function decideSeenReturn(seen: Seen, observed: SeenLicense): Decision {
  const { worker } = seen
  const doubt = doubtOf(seen, observed)
  if (doubt !== null) return leakInDoubt(worker, doubt)
  if (!holdsNothing(observed))
    return giveBack(worker, observed, reason('license_return_started', { before: 'termination' }))
  const ended = { status: 'UNREGISTERED', pending_operation: null, unsettled: null } as const
  return announce({ license: ended }, reason('cml_holds_no_license'))
}

/** A server that LCM has not reached before, such as one that was found stopped: its certificate is recorded before it is asked. */
function decideFirstObservation({ worker, cml }: Seen): Decision | null {
  const certificate_sha256 = cml?.certificate_sha256 ?? null
  if (worker.cml.certificate_sha256 !== null || certificate_sha256 === null) return null
  return announce({ cml: { certificate_sha256 } }, reason('cml_first_answer'))
}

/** Repeating a termination is safe, and makes up for a lost request. */
function decideDestruction(seen: Seen, because: Reason): Decision {
  const { worker, policy, nowMs } = seen
  // The return of a license may take hours, which is not EC2's fault.
  const allowedMs = policy.terminatingMsMax + (mayHaveHeldLicense(worker) ? policy.returnLicenseMsMax : 0)
  const isSet = worker.conditions.some(each => each.type === CONDITION.overdue && each.status)
  if (oursForMs(worker, nowMs) <= allowedMs || isSet) return perform({ kind: 'terminate' }, because)
  const overdue = reason('termination_overdue', { minutes: policy.terminatingMsMax / 60_000 })
  const condition = { type: CONDITION.overdue, status: true, reason: overdue }
  return announce({ conditions: withCondition(worker.conditions, condition, nowMs) }, overdue)
}

/** Its identity at the Smart Account says nothing: every server has one. */
const mayHaveHeldLicense = ({ license, conditions }: Worker): boolean =>
  license.product !== null || conditions.some(each => each.type === CONDITION.returningLicense)

/** EC2 reports the instance as terminating, which LCM did not request. */
export function decideDying(seen: Seen, because: Reason): Decision {
  const { worker, policy, nowMs } = seen
  if (holdsLicense(worker)) return leakLicense(licenseLost(worker, because))
  if (worker.status === 'TERMINATING' && holds(worker.conditions, CONDITION.terminateBlocked))
    return announce({ conditions: withoutCondition(worker.conditions, CONDITION.terminateBlocked) }, because)
  if (worker.status === 'TERMINATING') return wait(requeueAfterMs(worker, policy, nowMs), because)
  return write(gone('TERMINATING'), policy.requeueMs, because)
}
