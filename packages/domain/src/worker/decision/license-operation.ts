import { toInstant, toMs } from '../../instant.ts'
import { withCondition } from '../boot.ts'
import { factsOf, isEmpty } from '../facts.ts'
import type { Instance } from '../instance.ts'
import { ageOf, type LicenseSight, type Seen, type WorkerPolicy } from '../observation.ts'
import type { License } from '../parts.ts'
import { isTrusted, NOT_LAUNCHED } from '../trust.ts'
import { CONDITION, type Worker, type WorkerChanges } from '../worker.ts'
import { announce, type Decision, perform, wait, write } from './decision.ts'

export type SeenLicense = Extract<LicenseSight, { kind: 'seen' }>

/** How often CML is asked how its registration goes. */
const POLL_MS = 5_000

/** Whether the Smart Account may count a license for this worker. When in doubt, yes: a license is never lost by assuming. */
export const holdsLicense = ({ license }: Worker): boolean =>
  license.unsettled !== null || !['UNREGISTERED', 'FAILED'].includes(license.status)

/** Whether its license is given back when it stops. Only where LCM can register it again afterwards. */
export const releasesLicense = (worker: Worker, { licenseOnStop }: WorkerPolicy): boolean =>
  licenseOnStop === 'release' && isTrusted(worker) && holdsLicense(worker)

/** The next step of the operation that was asked for, or null when there is none, or nothing to say. */
export function decideLicense(seen: Seen): Decision | null {
  const { worker, license: sight } = seen
  const { pending_operation } = worker.license
  if (sight === null) return null
  // Before a license that it holds is given back for this one.
  if (pending_operation === 'register' && worker.license.unsettled !== 'register' && !isTrusted(worker))
    return withholdToken(worker)
  if (sight.kind === 'unknown') return pending_operation === null ? null : wait(POLL_MS, sight.because)
  const doubt = doubtOf(seen, sight)
  // One that failed by itself may come back by itself: nothing is lost until something is done to it.
  if (doubt !== null && (pending_operation !== null || isUnregistered(sight))) return leakInDoubt(worker, doubt)
  if (pending_operation === 'register') return decideRegister(seen, sight)
  if (pending_operation === 'deregister') return decideDeregister(seen, sight)
  const noticed = noticedChanges(worker, sight)
  return noticed === null ? null : announce(noticed, `CML says ${sight.registration}, ${sight.authorization}`)
}

/** What CML holds stays as it is. */
function withholdToken({ license }: Worker): Decision {
  const last_error = `${NOT_LAUNCHED}, so it is not sent a license token: register the license in its CML`
  const status = license.status === 'REGISTERING' ? 'UNKNOWN' : license.status
  return announce({ license: { status, last_error, pending_operation: null, operation_started_at: null } }, last_error)
}

const isLicensed = (sight: SeenLicense): boolean =>
  sight.registration === 'COMPLETED' && sight.authorization === 'IN_COMPLIANCE'
const isUnregistered = (sight: SeenLicense): boolean => sight.registration === 'NOT_REGISTERED'
/** A registration that failed holds nothing, and there is nothing to give back. */
export const holdsNothing = (sight: SeenLicense): boolean => isUnregistered(sight) || sight.registration === 'FAILED'

const RETURN_UNHEARD =
  'CML was asked to give its license back and holds none any more, but nobody heard its answer: the Smart Account may still ' +
  'count it, so look there for this server'
const FAILED_SINCE =
  'CML held a license, and a registration that LCM did not ask for has failed since: the Smart Account may still count the ' +
  'license, so look there for this server'

/** Why nobody can tell whether a license that was held is still counted, and CML will not tell later; null where that is known. */
export function doubtOf({ worker: { license }, isReturnHeard }: Seen, sight: SeenLicense): string | null {
  if (license.unsettled === 'deregister' && isUnregistered(sight) && !isReturnHeard) return RETURN_UNHEARD
  return license.status === 'REGISTERED' && sight.registration === 'FAILED' ? FAILED_SINCE : null
}

/** What somebody did behind our back, and the identity by which the Smart Account knows this server. */
function noticedChanges(worker: Worker, sight: SeenLicense): WorkerChanges | null {
  const { license } = worker
  const hasNone = isUnregistered(sight) || (license.status === 'UNKNOWN' && holdsNothing(sight))
  const status = isLicensed(sight) ? 'REGISTERED' : hasNone ? 'UNREGISTERED' : license.status
  const known = identityIn(sight)
  const isKnown = Object.entries(known).every(([name, value]) => license[name as keyof typeof known] === value)
  // A failure stays on show until somebody tries again.
  const shown = license.status === 'FAILED' && status === 'UNREGISTERED' ? 'FAILED' : status
  const isSettledNow = license.unsettled !== null && (isLicensed(sight) || holdsNothing(sight))
  if (shown === license.status && isKnown && !isSettledNow) return null
  return { license: { status: shown, ...known, ...(isSettledNow ? { unsettled: null } : {}) } }
}

/** By what the Smart Account knows this server, as far as CML says it: what it once said is kept. */
export const identityIn = ({ udi, hostname }: SeenLicense): Partial<Pick<License, 'udi' | 'hostname'>> => ({
  ...(udi === null ? {} : { udi }),
  ...(hostname === null ? {} : { hostname }),
})

/** Re-reads first, so that a new leader takes over whatever the last one has begun. */
function decideRegister(seen: Seen, sight: SeenLicense): Decision {
  const { worker, policy, nowMs } = seen
  const { license } = worker
  if (isLicensed(sight) && isSameProduct(license, sight)) {
    return over({ status: 'REGISTERED', last_error: null }, sight, 'CML is registered and in compliance')
  }
  if (license.operation_started_at === null) return begun('REGISTERING', sight, nowMs)
  // Before CML has taken what is asked for now, its failure is that of an earlier request.
  const isTaken = license.unsettled === 'register'
  if (isTaken && sight.registration === 'FAILED')
    return over({ status: 'FAILED', last_error: failureOf(sight) }, sight, `CML refused: ${failureOf(sight)}`)
  const because = isSameProduct(license, sight)
    ? `CML says ${stateOf(sight)}`
    : `CML has ${sight.product}, and ${license.product} is wanted`
  if (isInTheWay(license, sight)) return giveBack(worker, sight, because)
  // A worker that was stopped meanwhile could not continue the operation.
  const sinceMs = Math.max(toMs(license.operation_started_at), toMs(worker.entered_status_at))
  const isLate = sinceMs + policy.licenseMsMax <= nowMs
  if (!isLate)
    return isStillToBeAsked(license, sight) ? perform({ kind: 'register_license' }, because) : wait(POLL_MS, because)
  if (holdsNothing(sight))
    return over({ status: 'FAILED', last_error: 'CML never began to register' }, sight, 'CML never began to register')
  const late = `still ${stateOf(sight)} after ${policy.licenseMsMax / 1000} s`
  const error = sight.failure === null ? late : `${late}: ${sight.failure}`
  return over({ status: 'FAILED', last_error: error, unsettled: 'register' }, sight, error)
}

const stateOf = ({ registration, authorization }: SeenLicense): string => `${registration}, ${authorization}`

/**
 * CML holds a license that it held before. It could register over it, but if that failed, nobody could tell whether the one
 * before is still counted. Right after a registration it says INIT: that may be ours, whose answer was lost.
 */
const isInTheWay = (license: License, sight: SeenLicense): boolean =>
  sight.registration === 'COMPLETED' &&
  license.unsettled !== 'register' &&
  (sight.authorization !== 'INIT' || !isSameProduct(license, sight))

/** CML refuses while it is about it, and it may have forgotten what it has taken. */
const isStillToBeAsked = (license: License, sight: SeenLicense): boolean =>
  holdsNothing(sight) && (license.unsettled !== 'register' || isUnregistered(sight))

/** A CML that does not name its product may have the requested one. */
const isSameProduct = (license: License, sight: SeenLicense): boolean =>
  license.product === null || sight.product === null || license.product === sight.product
const failureOf = (sight: SeenLicense): string => sight.failure ?? 'CML gave no reason'

function decideDeregister({ worker, nowMs }: Seen, sight: SeenLicense): Decision {
  if (holdsNothing(sight))
    return over({ status: 'UNREGISTERED', last_error: null }, sight, `CML says ${sight.registration}`)
  if (worker.license.operation_started_at === null) return begun('DEREGISTERING', sight, nowMs)
  return giveBack(worker, sight, `CML says ${sight.registration}`)
}

/** That CML will be asked is on record before it is, for its answer may be lost. */
export const giveBack = (worker: Worker, sight: SeenLicense, because: string): Decision =>
  worker.license.unsettled === 'deregister'
    ? perform({ kind: 'deregister_license' }, because)
    : announce({ license: { unsettled: 'deregister', ...identityIn(sight) } }, because)

function begun(status: 'REGISTERING' | 'DEREGISTERING', sight: SeenLicense, nowMs: number): Decision {
  const unsettled = status === 'DEREGISTERING' ? 'deregister' : null
  const license = { status, operation_started_at: toInstant(nowMs), unsettled, ...identityIn(sight) } as const
  return announce({ license }, `${status} begins`)
}

function over(
  result: Pick<License, 'status' | 'last_error'> & Partial<Pick<License, 'unsettled'>>,
  sight: SeenLicense,
  because: string,
): Decision {
  const ended = {
    unsettled: null,
    ...result,
    ...identityIn(sight),
    pending_operation: null,
    operation_started_at: null,
  }
  return announce({ license: ended }, because)
}

/** What CML made of a request. Classes as in the cloud package's taxonomy. */
export type LicenseOutcome =
  | { readonly kind: 'taken' | 'returned' | 'left_behind' | 'not_registered' }
  | { readonly kind: 'refused'; readonly errorClass: string; readonly message: string }

/** By what an outcome is judged: the rules, and the machine as it was when CML was asked. */
export interface Judging {
  readonly policy: WorkerPolicy
  readonly instance: Instance
  readonly nowMs: number
}

/** What to do after CML was asked. Only a definite refusal ends an operation; whoever does not answer is asked again. */
export function judgeLicense(worker: Worker, outcome: LicenseOutcome, at: Judging): Decision {
  switch (outcome.kind) {
    case 'taken':
      if (worker.license.unsettled === 'register') return wait(POLL_MS, 'CML has taken the registration again')
      return write({ license: { unsettled: 'register' } }, POLL_MS, 'CML has taken the registration')
    case 'returned':
      // Believed before a machine goes only when a later look confirms it: nothing can be given back after that.
      if (worker.status === 'TERMINATING') {
        const license = { status: 'DEREGISTERING', unsettled: null } as const
        return write({ license }, POLL_MS, 'CML gave its license back, which is to be confirmed')
      }
      return announce(unlicensed(null, nextOf(worker)), 'the license was given back')
    case 'not_registered':
      // It held one a moment ago, so an earlier request may have had its effect: the next look judges that.
      return wait(POLL_MS, 'CML held no license any more')
    case 'left_behind': {
      const message = 'CML let go of its license, but the Smart Account was not reached and still counts it'
      return perform({ kind: 'record_leak', changes: unlicensed(message, nextOf(worker)) }, message)
    }
    case 'refused':
      if (outcome.errorClass === 'invalid' && worker.license.pending_operation !== null)
        return announce(refused(outcome.message, worker), outcome.message)
      if (outcome.errorClass !== 'state') return wait(POLL_MS, outcome.message)
      if (worker.status === 'TERMINATING') return decideRefusedReturn(worker, outcome.message, at)
      // Most likely labs run: whoever asked must hear of it, for only they can end them.
      if (isAwaitedReturn(worker) && worker.license.last_error !== outcome.message)
        return announce({ license: { last_error: outcome.message } }, outcome.message)
      return wait(at.policy.lookAgainMsMax, outcome.message)
  }
}

const isAwaitedReturn = ({ license }: Worker): boolean =>
  license.pending_operation !== null && license.unsettled === 'deregister'

/** Keeps `unsettled`: a license that CML did not release is still held. */
const refused = (last_error: string, { status }: Worker): WorkerChanges => ({
  license: {
    status: 'FAILED',
    last_error,
    pending_operation: status === 'STOPPING' ? 'register' : null,
    operation_started_at: null,
  },
})

/**
 * CML keeps its license, most likely because labs run. It must be seen to serve, or nobody could stop them; then that is asked
 * for at every refusal, since more labs may have shown up.
 */
function decideRefusedReturn(worker: Worker, message: string, { policy, instance, nowMs }: Judging): Decision {
  const condition = { type: CONDITION.returningLicense, status: true, reason: 'LabsRun', message }
  const said = worker.conditions.find(each => each.type === condition.type)
  const changes: WorkerChanges = {
    ...factsOf(worker, instance, policy.cmlAddress),
    ...(worker.service_status === 'AVAILABLE' ? {} : { service_status: 'AVAILABLE' }),
    ...(said?.reason === condition.reason && said.message === message
      ? {}
      : { conditions: withCondition(worker.conditions, condition, nowMs) }),
  }
  if (!isEmpty(changes)) return announce(changes, message)
  return perform({ kind: 'stop_labs', afterMs: policy.lookAgainMsMax }, message)
}

/** A license that is given back before the machine stops, where there are fewer of them than workers. Null: nothing to do. */
export function decideRelease(seen: Seen): Decision | null {
  const { worker, instance, policy, license: sight, nowMs } = seen
  const isDue = releasesLicense(worker, policy) && instance.state === 'running'
  // The other half of its time belongs to the machine.
  if (!isDue || ageOf(worker, nowMs) > policy.stoppingMsMax / 2) return null
  if (sight === null || sight.kind === 'unknown') return wait(POLL_MS, sight?.because ?? 'CML has no address')
  if (!holdsNothing(sight)) return giveBack(worker, sight, 'its license is released before it stops')
  const doubt = doubtOf(seen, sight)
  if (doubt !== null) return leakInDoubt(worker, doubt)
  if (worker.license.status === 'UNKNOWN')
    return announce({ license: { status: 'UNREGISTERED' } }, `CML says ${sight.registration}`)
  if (worker.license.unsettled === 'register')
    return announce({ license: { unsettled: null } }, `CML says ${sight.registration}`)
  const license = { status: 'UNREGISTERED', pending_operation: 'register', unsettled: null } as const
  return announce({ license }, 'its license is released until it is started again')
}

/** The machine is gone or must go, and its license with it. */
export const leakLicense = (because: string): Decision =>
  perform({ kind: 'record_leak', changes: unlicensed(because) }, because)
const unlicensed = (
  last_error: string | null,
  pending_operation: License['pending_operation'] = null,
): WorkerChanges => ({
  license: { status: 'UNREGISTERED', pending_operation, operation_started_at: null, unsettled: null, last_error },
})

/** What follows when a license is gone: one that was released for a stop, or is in the way of another, is asked for anew. */
const nextOf = ({ status, license }: Worker): License['pending_operation'] =>
  status === 'STOPPING' || (status === 'RUNNING' && license.pending_operation === 'register') ? 'register' : null

/** The doubt of `doubtOf` on record. */
export const leakInDoubt = (worker: Worker, doubt: string): Decision =>
  perform({ kind: 'record_leak', changes: unlicensed(doubt, nextOf(worker)) }, doubt)

/** Describes the license of a machine that died, for the operator who checks the Smart Account. */
export function lossWords({ license }: Worker): string {
  if (license.status === 'UNKNOWN') return 'nobody here ever saw whether it holds a license'
  if (license.unsettled === 'register')
    return 'it may hold a license: CML was registering, and nobody saw the end of it'
  if (license.unsettled === 'deregister' || license.status === 'DEREGISTERING')
    return 'nobody has confirmed that its license was given back'
  return 'its license was never given back'
}
