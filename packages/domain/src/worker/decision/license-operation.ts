import { toInstant, toMs } from '../../instant.ts'
import { type Reason, reason, sameReason } from '../../reason.ts'
import type { LostLicense } from '../../text/reasons/license-reasons.ts'
import { factsOf, isEmpty } from '../cml-endpoint.ts'
import type { Instance } from '../ec2-instance.ts'
import { isTrusted } from '../instance-trust.ts'
import type { LicenseObservation, Seen, WorkerPolicy } from '../observation.ts'
import { CONDITION, type Worker, type WorkerChanges, withCondition } from '../worker.ts'
import type { License } from '../worker-field-schemas.ts'
import { ageOf, announce, type Decision, perform, wait, write } from './decision.ts'

export type SeenLicense = Extract<LicenseObservation, { kind: 'seen' }>

/** Poll interval of a registration. */
const POLL_MS = 5_000

/** Whether the Smart Account may count a license for this worker. When in doubt, yes: a license is never lost by assuming. */
export const holdsLicense = ({ license }: Worker): boolean =>
  license.unsettled !== null || !['UNREGISTERED', 'FAILED'].includes(license.status)

/** Whether its license is returned when it stops. Only where LCM can register it again afterwards. */
export const releasesLicense = (worker: Worker, { licenseOnStop }: WorkerPolicy): boolean =>
  (licenseOnStop === 'release' || worker.license.seat === 'recalled') &&
  isTrusted(worker) &&
  holdsLicense(worker) &&
  canRegisterAgain(worker)

/** The license of an imported machine may have been registered by hand, and then LCM has no token for it. */
const canRegisterAgain = ({ origin, secret_refs, license }: Worker): boolean =>
  origin !== 'DISCOVERY' || secret_refs.license_token !== undefined || license.seat !== 'none'

/** The next step of the requested operation, or null when there is none, or nothing has changed. */
export function decideLicense(seen: Seen): Decision | null {
  const { worker, license: observed } = seen
  const { pending_operation } = worker.license
  if (observed === null) return null
  if (observed.kind === 'unknown') return pending_operation === null ? null : wait(POLL_MS, observed.because)
  const doubt = doubtOf(seen, observed)
  // One that failed by itself may come back by itself: nothing is lost until something is done to it.
  if (doubt !== null && (pending_operation !== null || isUnregistered(observed))) return leakInDoubt(worker, doubt)
  if (pending_operation === 'register') return decideRegister(seen, observed)
  if (pending_operation === 'deregister') return decideDeregister(seen, observed)
  const noticed = noticedChanges(worker, observed)
  return noticed === null ? null : announce(noticed, fullLicenseState(observed))
}

export const licenseState = ({ registration }: SeenLicense): Reason =>
  reason('cml_license_state', { registration, authorization: null })
const fullLicenseState = ({ registration, authorization }: SeenLicense): Reason =>
  reason('cml_license_state', { registration, authorization })

const isLicensed = (observed: SeenLicense): boolean =>
  observed.registration === 'COMPLETED' && observed.authorization === 'IN_COMPLIANCE'
const isUnregistered = (observed: SeenLicense): boolean => observed.registration === 'NOT_REGISTERED'
/** A registration that failed holds nothing, and there is nothing to return. */
export const holdsNothing = (observed: SeenLicense): boolean =>
  isUnregistered(observed) || observed.registration === 'FAILED'

/** Why it can't be known, now or later, whether a license that was held is still counted; null where it is known. */
export function doubtOf({ worker: { license }, isReturnHeard }: Seen, observed: SeenLicense): Reason | null {
  if (license.unsettled === 'deregister' && isUnregistered(observed) && !isReturnHeard)
    return reason('license_return_unconfirmed')
  const isReplaced = license.status === 'REGISTERED' && observed.registration === 'FAILED'
  return isReplaced ? reason('license_replaced_outside_lcm') : null
}

/** Changes that were made outside LCM, and the identity by which the Smart Account knows this server. */
function noticedChanges(worker: Worker, observed: SeenLicense): WorkerChanges | null {
  const { license } = worker
  const hasNone = isUnregistered(observed) || (license.status === 'UNKNOWN' && holdsNothing(observed))
  const status = isLicensed(observed) ? 'REGISTERED' : hasNone ? 'UNREGISTERED' : license.status
  const known = identityIn(observed)
  const isKnown = Object.entries(known).every(([name, value]) => license[name as keyof typeof known] === value)
  // A failure stays visible until the next try.
  const shown = license.status === 'FAILED' && status === 'UNREGISTERED' ? 'FAILED' : status
  const isSettledNow = license.unsettled !== null && (isLicensed(observed) || holdsNothing(observed))
  if (shown === license.status && isKnown && !isSettledNow) return null
  return { license: { status: shown, ...known, ...(isSettledNow ? { unsettled: null } : {}) } }
}

/** The identity of this server at the Smart Account, as far as CML reports it; known values are kept. */
export const identityIn = ({ udi, hostname }: SeenLicense): Partial<Pick<License, 'udi' | 'hostname'>> => ({
  ...(udi === null ? {} : { udi }),
  ...(hostname === null ? {} : { hostname }),
})

/** Re-reads first, so that a new leader takes over whatever the last one has begun. */
function decideRegister(seen: Seen, observed: SeenLicense): Decision {
  const { worker, policy, nowMs } = seen
  const { license } = worker
  if (isLicensed(observed) && isSameProduct(license, observed)) {
    return over({ status: 'REGISTERED', last_error: null }, observed, reason('license_registered'))
  }
  if (license.operation_started_at === null) return begun('REGISTERING', observed, nowMs)
  // Before CML has accepted this request, its failure is that of an earlier one.
  const isTaken = license.unsettled === 'register'
  if (isTaken && observed.registration === 'FAILED') {
    const failed = reason('license_registration_failed', { error: observed.failure })
    return over({ status: 'FAILED', last_error: observed.failure ?? failed.message }, observed, failed)
  }
  const because = isSameProduct(license, observed)
    ? fullLicenseState(observed)
    : reason('license_product_differs', { held: observed.product, requested: license.product })
  if (isInTheWay(license, observed)) return giveBack(worker, observed, because)
  // A worker that was stopped meanwhile could not continue the operation.
  const sinceMs = Math.max(toMs(license.operation_started_at), toMs(worker.entered_status_at))
  const isLate = sinceMs + policy.licenseMsMax <= nowMs
  if (!isLate)
    return isStillToBeAsked(license, observed) ? perform({ kind: 'register_license' }, because) : wait(POLL_MS, because)
  if (holdsNothing(observed)) {
    const idle = reason('license_registration_not_started')
    return over({ status: 'FAILED', last_error: idle.message }, observed, idle)
  }
  const { registration, authorization, failure } = observed
  const seconds = policy.licenseMsMax / 1000
  const late = reason('license_registration_timeout', { registration, authorization, seconds, failure })
  return over({ status: 'FAILED', last_error: late.message, unsettled: 'register' }, observed, late)
}

/**
 * CML holds a license that it held before. It could register over it, but if that failed, it could not be known whether the one
 * before is still counted. Right after a registration CML reports INIT: that may be ours, whose answer was lost.
 */
const isInTheWay = (license: License, observed: SeenLicense): boolean =>
  observed.registration === 'COMPLETED' &&
  license.unsettled !== 'register' &&
  (observed.authorization !== 'INIT' || !isSameProduct(license, observed))

/** CML refuses while it is registering, and it may have forgotten a request that it accepted. */
const isStillToBeAsked = (license: License, observed: SeenLicense): boolean =>
  holdsNothing(observed) && (license.unsettled !== 'register' || isUnregistered(observed))

/** A CML that does not name its product may have the requested one. */
const isSameProduct = (license: License, observed: SeenLicense): boolean =>
  license.product === null || observed.product === null || license.product === observed.product

function decideDeregister({ worker, nowMs }: Seen, observed: SeenLicense): Decision {
  if (holdsNothing(observed))
    return over({ status: 'UNREGISTERED', last_error: null }, observed, licenseState(observed))
  if (worker.license.operation_started_at === null) return begun('DEREGISTERING', observed, nowMs)
  return giveBack(worker, observed, licenseState(observed))
}

/** The request is recorded before it is sent, since the answer of CML may be lost. */
export const giveBack = (worker: Worker, observed: SeenLicense, because: Reason): Decision =>
  worker.license.unsettled === 'deregister'
    ? perform({ kind: 'deregister_license' }, because)
    : announce({ license: { unsettled: 'deregister', ...identityIn(observed) } }, because)

function begun(status: 'REGISTERING' | 'DEREGISTERING', observed: SeenLicense, nowMs: number): Decision {
  const unsettled = status === 'DEREGISTERING' ? 'deregister' : null
  const license = { status, operation_started_at: toInstant(nowMs), unsettled, ...identityIn(observed) } as const
  return announce({ license }, reason('license_operation_started', { status }))
}

function over(
  result: Pick<License, 'status' | 'last_error'> & Partial<Pick<License, 'unsettled'>>,
  observed: SeenLicense,
  because: Reason,
): Decision {
  const ended = {
    unsettled: null,
    ...result,
    ...identityIn(observed),
    pending_operation: null,
    operation_started_at: null,
  }
  return announce({ license: ended }, because)
}

/** The answer of CML to a request. Classes as in the cloud package's taxonomy. */
export type LicenseOutcome = { readonly kind: 'taken' | 'returned' | 'left_behind' | 'not_registered' } | LicenseRefusal

interface LicenseRefusal {
  readonly kind: 'refused'
  readonly errorClass: string
  readonly message: string
}

/** The policy, and the instance as it was when CML was asked. */
export interface Judging {
  readonly policy: WorkerPolicy
  readonly instance: Instance
  readonly nowMs: number
}

/** What to do after CML was asked. Only a definite refusal ends an operation; a request without an answer is repeated. */
export function judgeLicense(worker: Worker, outcome: LicenseOutcome, at: Judging): Decision {
  switch (outcome.kind) {
    case 'taken':
      if (worker.license.unsettled === 'register')
        return wait(POLL_MS, reason('license_registration_accepted', { again: true }))
      return write(
        { license: { unsettled: 'register' } },
        POLL_MS,
        reason('license_registration_accepted', { again: false }),
      )
    case 'returned':
      // Before a termination a later read must confirm it: nothing can be returned after that.
      if (worker.status === 'TERMINATING') {
        const license = { status: 'DEREGISTERING', unsettled: null } as const
        return write({ license }, POLL_MS, reason('license_returned', { confirmed: false }))
      }
      return announce(unlicensed(null, nextOf(worker)), reason('license_returned', { confirmed: true }))
    case 'not_registered':
      // It held one a moment ago, so an earlier request may have had its effect: the next reconcile judges that.
      return wait(POLL_MS, reason('license_already_gone'))
    case 'left_behind': {
      const because = reason('license_left_behind')
      return perform({ kind: 'record_leak', changes: unlicensed(because.message, nextOf(worker)) }, because)
    }
    case 'refused':
      return judgeRefusal(worker, outcome, at)
  }
}

function judgeRefusal(worker: Worker, { errorClass, message: error }: LicenseRefusal, at: Judging): Decision {
  const because = reason('license_request_refused', { error })
  if (errorClass === 'invalid' && worker.license.pending_operation !== null)
    return announce(refused(error, worker), because)
  if (errorClass !== 'state') return wait(POLL_MS, because)
  if (worker.status === 'TERMINATING') return decideRefusedReturn(worker, error, at)
  // Most likely labs run: the requester must see it, since only a user can stop them.
  if (isAwaitedReturn(worker) && worker.license.last_error !== error)
    return announce({ license: { last_error: error } }, because)
  return wait(at.policy.requeueMsMax, because)
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
 * CML keeps its license, most likely because labs run. The worker must be AVAILABLE, or the labs could not be stopped; then LCM
 * requests that at every refusal, since more labs may have been started.
 */
function decideRefusedReturn(worker: Worker, error: string, { policy, instance, nowMs }: Judging): Decision {
  const because = reason('license_return_refused', { error })
  const condition = { type: CONDITION.returningLicense, status: true, reason: because }
  const known = worker.conditions.find(each => each.type === condition.type)
  const changes: WorkerChanges = {
    ...factsOf(worker, instance, policy.cmlAddress),
    ...(worker.service_status === 'AVAILABLE' ? {} : { service_status: 'AVAILABLE' }),
    ...(known !== undefined && sameReason(known.reason, because)
      ? {}
      : { conditions: withCondition(worker.conditions, condition, nowMs) }),
  }
  if (!isEmpty(changes)) return announce(changes, because)
  return perform({ kind: 'stop_labs', afterMs: policy.requeueMsMax }, because)
}

/** Returns the license before the instance stops, where there are fewer licenses than workers. Null: nothing to do. */
export function decideRelease(seen: Seen): Decision | null {
  const { worker, instance, policy, license: observed, nowMs } = seen
  const isDue = releasesLicense(worker, policy) && instance.state === 'running'
  // The other half of the stop timeout is for EC2.
  if (!isDue || ageOf(worker, nowMs) > policy.stoppingMsMax / 2) return null
  if (observed === null || observed.kind === 'unknown')
    return wait(POLL_MS, observed?.because ?? reason('no_address_yet'))
  if (!holdsNothing(observed)) return giveBack(worker, observed, reason('license_return_started', { before: 'stop' }))
  const doubt = doubtOf(seen, observed)
  if (doubt !== null) return leakInDoubt(worker, doubt)
  if (worker.license.status === 'UNKNOWN')
    return announce({ license: { status: 'UNREGISTERED' } }, licenseState(observed))
  if (worker.license.unsettled === 'register') return announce({ license: { unsettled: null } }, licenseState(observed))
  const license = { status: 'UNREGISTERED', pending_operation: 'register', unsettled: null } as const
  return announce({ license }, reason('license_released_until_start'))
}

/** The instance is gone or must be terminated, and its license is lost with it. */
export const leakLicense = (because: Reason): Decision =>
  perform({ kind: 'record_leak', changes: unlicensed(because.message) }, because)
const unlicensed = (
  last_error: string | null,
  pending_operation: License['pending_operation'] = null,
): WorkerChanges => ({
  license: { status: 'UNREGISTERED', pending_operation, operation_started_at: null, unsettled: null, last_error },
})

/** The next operation: a license that was returned for a stop, or to make way for another, is requested again. */
const nextOf = ({ status, license }: Worker): License['pending_operation'] =>
  status === 'STOPPING' || (status === 'RUNNING' && license.pending_operation === 'register') ? 'register' : null

/** Records a license as possibly leaked, for the reason that `doubtOf` gives. */
export const leakInDoubt = (worker: Worker, doubt: Reason): Decision =>
  perform({ kind: 'record_leak', changes: unlicensed(doubt.message, nextOf(worker)) }, doubt)

/** Why the license of an instance that is gone is lost, for the operator who checks the Smart Account. */
export const licenseLost = (worker: Worker, cause: Reason): Reason =>
  reason('license_lost', { cause, license: lostLicense(worker) })

function lostLicense({ license }: Worker): LostLicense {
  if (license.status === 'UNKNOWN') return 'never_checked'
  if (license.unsettled === 'register') return 'registering'
  const isReturning = license.unsettled === 'deregister' || license.status === 'DEREGISTERING'
  return isReturning ? 'return_unconfirmed' : 'not_returned'
}
