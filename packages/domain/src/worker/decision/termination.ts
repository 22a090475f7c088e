import { holds, withCondition, withoutCondition } from '../boot.ts'
import type { Instance } from '../instance.ts'
import { lookAgain, type Seen } from '../observation.ts'
import { hasLogin, NOT_LAUNCHED } from '../trust.ts'
import { CONDITION, type Worker, type WorkerChanges } from '../worker.ts'
import { announce, type Decision, perform, wait, write } from './decision.ts'
import { hold } from './hold.ts'
import {
  doubtOf,
  giveBack,
  holdsLicense,
  holdsNothing,
  identityIn,
  leakInDoubt,
  leakLicense,
  lossWords,
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

/** Explains the end of a machine, with the initiator as far as EC2 reports it. */
export function deathWords(worker: Worker, { instance_id, state, state_reason }: Instance): string {
  const isOver = state === 'terminated'
  if (worker.desired_status === 'TERMINATED') return `EC2 confirmed that ${instance_id} is ${state}`
  const lost = isOver ? '; its disk is gone' : ''
  if (state_reason === 'Client.UserInitiatedShutdown')
    return `somebody outside LCM ${isOver ? 'terminated' : 'terminates'} ${instance_id}${lost}`
  if (state_reason === 'Client.InstanceInitiatedShutdown')
    return `${instance_id} shut itself down and ${isOver ? 'was' : 'is being'} terminated${lost}`
  if (state_reason?.startsWith('Server.'))
    return `AWS ${isOver ? 'terminated' : 'terminates'} ${instance_id} (${state_reason})${lost}`
  return `${instance_id} ${isOver ? 'was' : 'is being'} terminated, which nobody here asked for${lost}`
}

/** The machine is gone: nothing can give its license back any more, so that is recorded before anything else. */
export const decideGone = (worker: Worker, because: string): Decision =>
  holdsLicense(worker) ? leakLicense(`${because}, and ${lossWords(worker)}`) : write(gone('TERMINATED'), null, because)

/**
 * Termination on request. Announced first; then, in this order: check the ownership, return the license, and only then terminate the
 * machine. While the license is returned CML keeps serving, but no session is placed on it.
 */
export function decideTermination(seen: Seen, because: string): Decision {
  const { worker, instance, policy, nowMs } = seen
  if (worker.status !== 'TERMINATING') return announce({ status: 'TERMINATING' }, because)
  if (!isOurs(worker, instance, policy)) {
    const message = `${instance.instance_id} does not carry our tags any more, so it is left alone`
    return hold(worker, { type: CONDITION.notOurs, reason: 'TagsMissing', message }, policy.lookAgainMsMax, nowMs)
  }
  if (holdsLicense(worker)) return decideReturn(seen)
  return decideFoundLicense(seen) ?? decideDestruction(seen, because)
}

/** Registered behind our back: written down first, so that it is given back or recorded as any other. */
function decideFoundLicense({ worker, license, policy, nowMs }: Seen): Decision | null {
  if (license?.kind !== 'seen' || holdsNothing(license)) return null
  const isOnRecord = oursForMs(worker, nowMs) > policy.returnLicenseMsMax && worker.license.last_error !== null
  if (isOnRecord) return null
  return announce({ license: { status: 'REGISTERED', ...identityIn(license) } }, `CML says ${license.registration}`)
}

/** A license is given back before its machine goes, or it is on record that it was not. */
function decideReturn(seen: Seen): Decision {
  const { worker, instance, policy, license, nowMs } = seen
  if (oursForMs(worker, nowMs) > policy.returnLicenseMsMax)
    return leakLicense(`its license could not be given back within ${policy.returnLicenseMsMax / 3_600_000} h`)
  const waiting = (message: string): Decision =>
    hold(
      worker,
      { type: CONDITION.returningLicense, reason: 'Waiting', message },
      lookAgain(worker, policy, nowMs),
      nowMs,
    )
  switch (instance.state) {
    case 'stopped':
      if (policy.licenseOnTerminate === 'record')
        return leakLicense('it was stopped, and licenses of stopped workers are only recorded')
      // To boot it would cost money and return nothing.
      if (!hasLogin(worker)) return waiting(withoutLogin(seen))
      return perform({ kind: 'start' }, 'it must boot once more to give its license back')
    case 'running':
      if (!hasLogin(worker)) return waiting(withoutLogin(seen))
      if (license === null) return waiting('CML has no address yet')
      if (license.kind === 'unknown') return decideFirstSight(seen) ?? waiting(license.because)
      return decideSeenReturn(seen, license)
    default:
      return waiting(`EC2 says ${instance.state}`)
  }
}

const withoutLogin = ({ worker, policy }: Seen): string =>
  `${NOT_LAUNCHED} and has no login for its CML, which may hold a license: set one with \`lcm set credentials ${worker.id}\`. ` +
  `Otherwise it is terminated after ${policy.returnLicenseMsMax / 3_600_000} h, and the license is recorded as leaked`

function decideSeenReturn(seen: Seen, sight: SeenLicense): Decision {
  const { worker } = seen
  const doubt = doubtOf(seen, sight)
  if (doubt !== null) return leakInDoubt(worker, doubt)
  if (!holdsNothing(sight)) return giveBack(worker, sight, 'its license is given back before it goes')
  const ended = { status: 'UNREGISTERED', pending_operation: null, unsettled: null } as const
  return announce({ license: ended }, 'CML holds no license')
}

/** Of a server that nobody here has spoken to yet, such as one that was found stopped: it is asked only once it is known. */
function decideFirstSight({ worker, cml }: Seen): Decision | null {
  const certificate_sha256 = cml?.certificate_sha256 ?? null
  if (worker.cml.certificate_sha256 !== null || certificate_sha256 === null) return null
  return announce({ cml: { certificate_sha256 } }, 'its CML answers for the first time')
}

/** Repeating a termination does no harm, and one that was lost on its way is made up for. */
function decideDestruction(seen: Seen, because: string): Decision {
  const { worker, policy, nowMs } = seen
  // To give a license back may take hours, which is not EC2's fault.
  const allowedMs = policy.terminatingMsMax + (mayHaveHeldLicense(worker) ? policy.returnLicenseMsMax : 0)
  const isSaid = worker.conditions.some(each => each.type === CONDITION.overdue && each.status)
  if (oursForMs(worker, nowMs) <= allowedMs || isSaid) return perform({ kind: 'terminate' }, because)
  const message = `EC2 has not terminated it within ${policy.terminatingMsMax / 60_000} min`
  const condition = { type: CONDITION.overdue, status: true, reason: 'Terminating', message }
  return announce({ conditions: withCondition(worker.conditions, condition, nowMs) }, message)
}

/** Its identity at the Smart Account says nothing: every server has one. */
const mayHaveHeldLicense = ({ license, conditions }: Worker): boolean =>
  license.product !== null || conditions.some(each => each.type === CONDITION.returningLicense)

/** The machine was seen dying, and nobody here asked for it. */
export function decideDying(seen: Seen, because: string): Decision {
  const { worker, policy, nowMs } = seen
  if (holdsLicense(worker)) return leakLicense(`${because}, and ${lossWords(worker)}`)
  if (worker.status === 'TERMINATING' && holds(worker.conditions, CONDITION.terminateBlocked))
    return announce({ conditions: withoutCondition(worker.conditions, CONDITION.terminateBlocked) }, because)
  if (worker.status === 'TERMINATING') return wait(lookAgain(worker, policy, nowMs), because)
  return write(gone('TERMINATING'), policy.lookAgainMs, because)
}
