import { toInstant, toMs } from '../instant.ts'
import { withCondition } from './boot.ts'
import { announce, type Decision, perform, wait } from './decision.ts'
import { factsOf, isEmpty } from './facts.ts'
import type { Instance } from './instance.ts'
import { ageOf, type LicenseSight, type Seen, type WorkerPolicy } from './observation.ts'
import type { License } from './parts.ts'
import { CONDITION, type Worker, type WorkerChanges } from './worker.ts'

type SeenLicense = Extract<LicenseSight, { kind: 'seen' }>

/** How often CML is asked how its registration goes. */
const POLL_MS = 5_000

/** Whether the Smart Account may count a licence for this worker. When in doubt, yes: a licence is never lost by assuming. */
export const holdsLicense = ({ license }: Worker): boolean =>
  license.status === 'REGISTERED' || license.status === 'REGISTERING' || license.status === 'DEREGISTERING'

/** The next step of the operation that was asked for, or null when there is none, or nothing to say. */
export function decideLicense(seen: Seen): Decision | null {
  const { worker, license: sight } = seen
  const { pending_operation } = worker.license
  if (sight === null) return null
  if (sight.kind === 'unknown') return pending_operation === null ? null : wait(POLL_MS, sight.because)
  if (pending_operation === 'register') return decideRegister(seen, sight)
  if (pending_operation === 'deregister') return decideDeregister(seen, sight)
  const noticed = noticedChanges(worker, sight)
  return noticed === null ? null : announce(noticed, `CML says ${sight.registration}, ${sight.authorization}`)
}

const isLicensed = (sight: SeenLicense): boolean =>
  sight.registration === 'COMPLETED' && sight.authorization === 'IN_COMPLIANCE'
const isUnregistered = (sight: SeenLicense): boolean => sight.registration === 'NOT_REGISTERED'
/** A registration that failed holds nothing, and there is nothing to give back. */
export const holdsNothing = (sight: SeenLicense): boolean => isUnregistered(sight) || sight.registration === 'FAILED'

/** What somebody did behind our back, and the identity by which the Smart Account knows this server. */
function noticedChanges(worker: Worker, sight: SeenLicense): WorkerChanges | null {
  const { license } = worker
  const status = isLicensed(sight) ? 'REGISTERED' : isUnregistered(sight) ? 'UNREGISTERED' : license.status
  const known = identityIn(sight)
  const isKnown = Object.entries(known).every(([name, value]) => license[name as keyof typeof known] === value)
  // A failure stays on show until somebody tries again.
  const shown = license.status === 'FAILED' && status === 'UNREGISTERED' ? 'FAILED' : status
  return shown === license.status && isKnown ? null : { license: { status: shown, ...known } }
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
  if (isLicensed(sight) && (license.operation_started_at !== null || isSameProduct(license, sight))) {
    return over({ status: 'REGISTERED', last_error: null }, sight, 'CML is registered and in compliance')
  }
  if (license.operation_started_at === null) return begun('REGISTERING', sight, nowMs)
  if (sight.registration === 'FAILED')
    return over({ status: 'FAILED', last_error: failureOf(sight) }, sight, `CML refused: ${failureOf(sight)}`)
  const lateMs = toMs(license.operation_started_at) + policy.licenseMsMax - nowMs
  if (isUnregistered(sight)) {
    if (lateMs > 0) return perform({ kind: 'register_license' }, 'CML is not registered yet')
    return over({ status: 'FAILED', last_error: 'CML never began to register' }, sight, 'CML never began to register')
  }
  if (lateMs > 0) return wait(POLL_MS, `CML says ${sight.registration}, ${sight.authorization}`)
  const late = `still ${sight.registration}, ${sight.authorization} after ${policy.licenseMsMax / 1000} s`
  const error = sight.failure === null ? late : `${late}: ${sight.failure}`
  return over({ status: 'FAILED', last_error: error }, sight, error)
}

const isSameProduct = (license: License, sight: SeenLicense): boolean =>
  license.product === null || license.product === sight.product
const failureOf = (sight: SeenLicense): string => sight.failure ?? 'CML gave no reason'

function decideDeregister({ worker, nowMs }: Seen, sight: SeenLicense): Decision {
  if (isUnregistered(sight))
    return over({ status: 'UNREGISTERED', last_error: null }, sight, 'CML says that it is not registered')
  if (worker.license.operation_started_at === null) return begun('DEREGISTERING', sight, nowMs)
  return perform({ kind: 'deregister_license' }, `CML says ${sight.registration}`)
}

const begun = (status: License['status'], sight: SeenLicense, nowMs: number): Decision =>
  announce({ license: { status, operation_started_at: toInstant(nowMs), ...identityIn(sight) } }, `${status} begins`)

function over(
  result: { status: License['status']; last_error: string | null },
  sight: SeenLicense,
  because: string,
): Decision {
  const ended = { ...result, ...identityIn(sight), pending_operation: null, operation_started_at: null }
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
  // One that is released for a stop is registered again after the next start.
  const pending_operation = worker.status === 'STOPPING' ? 'register' : null
  const ended = (status: License['status'], last_error: string | null): WorkerChanges => ({
    license: { status, last_error, pending_operation, operation_started_at: null },
  })
  switch (outcome.kind) {
    case 'taken':
      return wait(POLL_MS, 'CML has taken the registration')
    case 'returned':
      // Believed before a machine goes only when a later look confirms it: nothing can be given back after that.
      if (worker.status === 'TERMINATING') return wait(POLL_MS, 'CML gave its licence back, which is to be confirmed')
      return announce(ended('UNREGISTERED', null), 'the licence was given back')
    case 'not_registered':
      return announce(ended('UNREGISTERED', null), 'CML held no licence')
    case 'left_behind': {
      const message = 'CML let go of its licence, but the Smart Account was not reached and still counts it'
      return perform({ kind: 'record_leak', changes: ended('UNREGISTERED', message) }, message)
    }
    case 'refused':
      if (outcome.errorClass === 'invalid' && worker.license.pending_operation !== null)
        return announce(ended('FAILED', outcome.message), outcome.message)
      if (outcome.errorClass !== 'state') return wait(POLL_MS, outcome.message)
      if (worker.status === 'TERMINATING') return decideRefusedReturn(worker, outcome.message, at)
      // Most likely labs run: whoever asked must hear of it, for only they can end them.
      if (worker.license.pending_operation === 'deregister' && worker.license.last_error !== outcome.message)
        return announce({ license: { last_error: outcome.message } }, outcome.message)
      return wait(at.policy.lookAgainMsMax, outcome.message)
  }
}

/**
 * CML keeps its licence, most likely because labs run. It must be seen to serve, or nobody could stop them; then that is asked
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

/** A licence that is given back before the machine stops, where there are fewer of them than workers. Null: nothing to do. */
export function decideRelease(seen: Seen): Decision | null {
  const { worker, instance, policy, license: sight, nowMs } = seen
  const isDue = policy.licenseOnStop === 'release' && holdsLicense(worker) && instance.state === 'running'
  // The other half of its time belongs to the machine.
  if (!isDue || ageOf(worker, nowMs) > policy.stoppingMsMax / 2) return null
  if (sight === null || sight.kind === 'unknown') return wait(POLL_MS, sight?.because ?? 'CML has no address')
  if (!isUnregistered(sight)) return perform({ kind: 'deregister_license' }, 'its licence is released before it stops')
  const license: WorkerChanges['license'] = { status: 'UNREGISTERED', pending_operation: 'register' }
  return announce({ license }, 'its licence is released until it is started again')
}

/** The machine is gone or must go, and its licence with it. */
export const leakLicense = (because: string): Decision =>
  perform({ kind: 'record_leak', changes: unlicensed(because) }, because)
const unlicensed = (last_error: string): WorkerChanges => ({
  license: { status: 'UNREGISTERED', pending_operation: null, operation_started_at: null, last_error },
})
