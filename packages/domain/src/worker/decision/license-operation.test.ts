import { aLicenseObservation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { reason, textReason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { type LicenseObservation, WORKER_POLICY } from '../observation.ts'
import { type Worker, withChanges } from '../worker.ts'
import { NO_LICENSE } from '../worker-field-schemas.ts'
import type { Decision } from './decision.ts'
import { holdsLicense, judgeLicense, type LicenseOutcome } from './license-operation.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const STARTED = toInstant(ENTERED + 10_000)
const withLicense = (license: Partial<Worker['license']>, more: Partial<Worker> = {}): Worker =>
  onMachine({ license: { ...NO_LICENSE, ...license }, ...more })
const says = (registration: string, authorization = 'INIT', more: object = {}): LicenseObservation =>
  aLicenseObservation({ registration, authorization, product: 'CML_Enterprise', ...more })
const LICENSED = says('COMPLETED', 'IN_COMPLIANCE')
const OTHER = says('COMPLETED', 'IN_COMPLIANCE', { product: 'CML_Personal' })
const decide = (worker: Worker, license: LicenseObservation | null, afterMs = 20_000, policy = WORKER_POLICY) =>
  decideWorker(worker, anObservation({ license }), policy, ENTERED + afterMs)
/** The worker with the changes of the decision. */
const written = (worker: Worker, { action }: Decision): Worker =>
  'changes' in action && action.changes !== null ? withChanges(worker, action.changes) : worker

describe('an instance that LCM did not launch', () => {
  const found = (license: Partial<Worker['license']>, more: Partial<Worker> = {}) =>
    withLicense(license, { origin: 'DISCOVERY', launch: null, ...more })
  const asked = { product: 'CML_Enterprise', pending_operation: 'register' } as const

  it('registers no license before it is approved, and registers it then', () => {
    const worker = found({ ...asked, status: 'UNKNOWN' })
    const held = decide(worker, says('NOT_REGISTERED'))
    expect(held.because.code).toBe('approval_required')
    expect(written(worker, held).license).toEqual(worker.license)
    const approval = { state: 'approved', by: 'ann', at: STARTED, fingerprint: null } as const
    expect(decide({ ...worker, approval }, says('NOT_REGISTERED')).because.code).toBe('license_operation_started')
  })

  it('keeps its license when it stops, since LCM could not register it again', () => {
    const policy = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    const stopping = found({ status: 'REGISTERED' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    expect(decide(stopping, LICENSED, 20_000, policy).action.kind).toBe('stop')
    const approval = { state: 'approved', by: 'ann', at: STARTED, fingerprint: null } as const
    expect(decide({ ...stopping, approval }, LICENSED, 20_000, policy).action.kind).toBe('stop')
    const withToken = { ...stopping, approval, secret_refs: { license_token: 'ref' } }
    expect(decide(withToken, LICENSED, 20_000, policy).action.kind).toBe('write')
    const launched = { ...stopping, origin: 'USER', launch: onMachine().launch } as const
    expect(decide(launched, LICENSED, 20_000, policy).action.kind).toBe('write')
  })
})

describe('registering', () => {
  const asked = withLicense({ product: 'CML_Enterprise', pending_operation: 'register' })
  const begun = withLicense({ ...asked.license, status: 'REGISTERING', operation_started_at: STARTED })
  const taken = withLicense({ ...begun.license, unsettled: 'register' })

  it('is announced, then requested, then waited for', () => {
    expect(decide(asked, says('NOT_REGISTERED'))).toMatchObject({
      action: { changes: { license: { status: 'REGISTERING', udi: 'udi-1' } }, afterMs: 0 },
      because: { code: 'license_operation_started', params: { status: 'REGISTERING' } },
    })
    expect(decide(begun, says('NOT_REGISTERED')).action.kind).toBe('register_license')
    expect(decide(begun, says('IN_PROGRESS'))).toMatchObject({
      action: { kind: 'wait', afterMs: 5_000 },
      because: { code: 'cml_license_state', params: { registration: 'IN_PROGRESS', authorization: 'INIT' } },
    })
    expect(decide(taken, says('COMPLETED')).action.kind).toBe('wait')
    const registered = { status: 'REGISTERED', pending_operation: null, operation_started_at: null, udi: 'udi-1' }
    expect(decide(taken, LICENSED)).toMatchObject({
      action: { changes: { license: registered } },
      because: { code: 'license_registered' },
    })
  })

  it('keeps the host name at the Smart Account, and an older one while CML reports none', () => {
    const named = (hostname: string | null) => says('NOT_REGISTERED', 'INIT', { hostname })
    expect(decide(asked, named('cml-7')).action).toMatchObject({ changes: { license: { hostname: 'cml-7' } } })
    expect(decide(begun, says('COMPLETED', 'IN_COMPLIANCE', { hostname: 'cml-7' })).action).toMatchObject({
      changes: { license: { hostname: 'cml-7' } },
    })
    const idle = withLicense({ udi: 'udi-1', hostname: null })
    expect(decide(idle, named('cml-7')).action).toMatchObject({ changes: { license: { hostname: 'cml-7' } } })
    const known = withLicense({ udi: 'udi-1', hostname: 'cml-7' })
    expect(decide(known, named('cml-7')).action.kind).toBe('nothing')
    expect(decide(known, named(null)).action.kind).toBe('nothing')
  })

  it('is over when an earlier leader has done it, but not when the product differs', () => {
    expect(decide(asked, LICENSED).action).toMatchObject({ changes: { license: { status: 'REGISTERED' } } })
    expect(decide(asked, OTHER).action).toMatchObject({ changes: { license: { status: 'REGISTERING' } } })
    expect(decide(begun, says('COMPLETED', 'IN_COMPLIANCE', { product: null })).action).toMatchObject({
      changes: { license: { status: 'REGISTERED' } },
    })
  })

  it('returns the license that CML holds first: if it fails, it could not be known whether that is still counted', () => {
    for (const held of [OTHER, says('COMPLETED', 'OUT_OF_COMPLIANCE')]) {
      const announced = written(begun, decide(begun, held))
      expect(announced.license).toMatchObject({ status: 'REGISTERING', unsettled: 'deregister' })
      expect(decide(announced, held).action.kind).toBe('deregister_license')
      const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED + 20_000 }
      for (const kind of ['returned', 'left_behind'] as const) {
        const after = written(announced, judgeLicense(announced, { kind }, at))
        expect(after.license).toMatchObject({ status: 'UNREGISTERED', pending_operation: 'register', unsettled: null })
        expect(decide(after, says('NOT_REGISTERED')).action).toMatchObject({
          changes: { license: { status: 'REGISTERING' } },
        })
      }
    }
    expect(decide(begun, OTHER).because).toMatchObject({
      code: 'license_product_differs',
      params: { held: 'CML_Personal', requested: 'CML_Enterprise' },
    })
  })

  it('waits for labs that keep CML from returning its license, with the error', () => {
    const giving = withLicense({ ...begun.license, unsettled: 'deregister' })
    const refused = { kind: 'refused', errorClass: 'state', message: 'labs are running' } as const
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED + 30_000 }
    expect(judgeLicense(giving, refused, at).action).toMatchObject({
      changes: { license: { last_error: 'labs are running' } },
    })
    expect(decide(giving, OTHER, 10 * 3_600_000).action.kind).toBe('deregister_license')
  })

  it('does not return a license that CML may just have received, when its answer was lost', () => {
    expect(decide(begun, says('COMPLETED', 'INIT')).action.kind).toBe('wait')
    expect(decide(taken, OTHER).action.kind).toBe('wait')
    expect(decide(taken, OTHER, 131_000).action).toMatchObject({
      changes: { license: { status: 'FAILED', unsettled: 'register' } },
    })
  })

  it('is requested whatever the result of an earlier one', () => {
    expect(decide(begun, says('FAILED', 'EVAL')).action.kind).toBe('register_license')
  })

  it('keeps a license unsettled that CML may hold after all', () => {
    const late = decide(taken, says('COMPLETED', 'OUT_OF_COMPLIANCE'), 131_000)
    expect(late.action).toMatchObject({ changes: { license: { status: 'FAILED', unsettled: 'register' } } })
  })

  it('gets a new timeout when the worker was stopped in between and runs again', () => {
    const again = { ...begun, entered_status_at: toInstant(ENTERED + 86_400_000) }
    expect(decide(again, says('NOT_REGISTERED'), 86_410_000).action.kind).toBe('register_license')
    expect(decide(again, says('NOT_REGISTERED'), 86_400_000 + WORKER_POLICY.licenseMsMax).action).toMatchObject({
      changes: { license: { status: 'FAILED' } },
    })
  })

  it('fails with the error of CML', () => {
    const refused = says('FAILED', 'EVAL', { failure: 'the token is not valid' })
    const last_error = 'the token is not valid'
    expect(decide(taken, refused)).toMatchObject({
      action: { changes: { license: { status: 'FAILED', last_error, pending_operation: null } } },
      because: { code: 'license_registration_failed', params: { error: last_error } },
    })
  })

  it.each([
    ['RETRY_IN_PROGRESS', 'EVAL', 'license_registration_timeout'],
    ['COMPLETED', 'OUT_OF_COMPLIANCE', 'license_registration_timeout'],
    ['NOT_REGISTERED', 'INIT', 'license_registration_not_started'],
  ])('fails when it is %s and %s for too long: %s', (registration, authorization, code) => {
    const observed = says(registration, authorization, { failure: 'not reached' })
    const { action, because } = decide(taken, observed, 131_000)
    expect(because.code).toBe(code)
    if (code === 'license_registration_timeout')
      expect(because.params).toEqual({ registration, authorization, seconds: 120, failure: 'not reached' })
    expect(action).toMatchObject({
      changes: { license: { status: 'FAILED', last_error: because.message, pending_operation: null } },
    })
  })

  it('is kept as it is while CML does not answer, however long', () => {
    const silent: LicenseObservation = { kind: 'unknown', because: textReason('no answer') }
    expect(decide(begun, silent, 10 * 3_600_000).action.kind).toBe('wait')
  })
})

it('returns a license on request', () => {
  const asked = withLicense({ status: 'REGISTERED', pending_operation: 'deregister' })
  expect(decide(asked, LICENSED).action).toMatchObject({
    changes: { license: { status: 'DEREGISTERING', unsettled: 'deregister' } },
  })
  const begun = written(asked, decide(asked, LICENSED))
  expect(decide(begun, LICENSED).action.kind).toBe('deregister_license')
  expect(decide(asked, says('NOT_REGISTERED')).action, 'there is nothing to give back').toMatchObject({
    kind: 'write',
    changes: { license: { status: 'UNREGISTERED', pending_operation: null } },
  })
})

describe('a license that was held before a registration outside LCM failed', () => {
  const FAILED = says('FAILED', 'EVAL')
  const POSSIBLE = { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED', unsettled: null } } }

  it('may be lost, which is recorded when it is to be returned, released or registered again', () => {
    const returning = withLicense({ status: 'REGISTERED', pending_operation: 'deregister' })
    expect(decide(returning, FAILED).action).toMatchObject(POSSIBLE)
    const renewed = withLicense({ status: 'REGISTERED', pending_operation: 'register' })
    expect(written(renewed, decide(renewed, FAILED)).license.pending_operation).toBe('register')
    const stopping = withLicense({ status: 'REGISTERED' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    expect(decide(stopping, FAILED, 1_000, release).action).toMatchObject(POSSIBLE)
    expect(decide(stopping, FAILED, 1_000, release).because.code).toBe('license_replaced_outside_lcm')
  })

  it('is left alone while no operation is requested', () => {
    expect(decide(withLicense({ status: 'REGISTERED', udi: 'udi-1' }), FAILED).action.kind).toBe('nothing')
  })
})

describe('a license whose return was requested and the answer of CML was lost', () => {
  const GONE = says('NOT_REGISTERED')
  const POSSIBLE = { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED', unsettled: null } } }
  const asked = withLicense({
    status: 'DEREGISTERING',
    pending_operation: 'deregister',
    operation_started_at: STARTED,
    unsettled: 'deregister',
    udi: 'udi-1',
  })

  it('is recorded as possibly lost once CML no longer holds it', () => {
    const decision = decide(asked, GONE)
    expect(decision.action).toMatchObject(POSSIBLE)
    expect(decision.action).toMatchObject({ changes: { license: { pending_operation: null } } })
    expect(decision.because).toEqual(reason('license_return_unconfirmed'))
    expect(decide(written(asked, decision), GONE).action.kind, 'once').toBe('nothing')
  })

  it('is requested again while CML holds it, and is no loss where the registration had failed', () => {
    expect(decide(asked, LICENSED).action.kind).toBe('deregister_license')
    expect(decide(asked, says('FAILED')).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED', unsettled: null } },
    })
  })

  it('is judged by the next reconcile when CML reports that it had none', () => {
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED }
    expect(judgeLicense(asked, { kind: 'not_registered' }, at)).toMatchObject({
      action: { kind: 'wait' },
      because: { code: 'license_already_gone' },
    })
  })

  it('counts as returned when this leader received the answer, though another write came between', () => {
    const heard = anObservation({ license: GONE, isReturnHeard: true })
    expect(decideWorker(asked, heard, WORKER_POLICY, ENTERED + 20_000).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED', unsettled: null, last_error: null } },
    })
  })

  it('may be lost also when a new one was requested since, which is then registered', () => {
    const renewed = withLicense({ ...asked.license, pending_operation: 'register', operation_started_at: null })
    const decision = decide(renewed, GONE)
    expect(decision.action).toMatchObject(POSSIBLE)
    const after = written(renewed, decision)
    expect(after.license.pending_operation).toBe('register')
    expect(decide(after, GONE).action).toMatchObject({ changes: { license: { status: 'REGISTERING' } } })
  })

  it('may be lost also when the instance was stopped before the next reconcile', () => {
    const started = withLicense({ status: 'REGISTERED', udi: 'udi-1', unsettled: 'deregister' })
    expect(decide(started, GONE).action).toMatchObject(POSSIBLE)
    expect(decide(started, LICENSED).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'REGISTERED', unsettled: null } },
    })
  })

  it('is announced first also by a record that an older version has begun', () => {
    const old = withLicense({ ...asked.license, unsettled: null })
    expect(decide(old, LICENSED).action).toMatchObject({
      kind: 'write',
      changes: { license: { unsettled: 'deregister' } },
    })
  })
})

describe('a registration that timed out while CML was still registering', () => {
  const begun = withLicense({ status: 'REGISTERING', pending_operation: 'register', operation_started_at: STARTED })
  const late = decide(begun, says('RETRY_IN_PROGRESS', 'EVAL'), 131_000)
  const failed = written(begun, late)

  it('counts as a license that is held until CML is seen without one', () => {
    expect(failed.license).toMatchObject({ status: 'FAILED', unsettled: 'register' })
    expect(holdsLicense(failed)).toBe(true)
    expect(decide(failed, says('RETRY_IN_PROGRESS', 'EVAL')).action.kind).toBe('nothing')
    for (const registration of ['NOT_REGISTERED', 'FAILED']) {
      const after = written(failed, decide(failed, says(registration)))
      expect(after.license, 'it is still shown').toMatchObject({ status: 'FAILED', last_error: late.because.message })
      expect(holdsLicense(after)).toBe(false)
      expect(decide(after, says(registration)).action.kind).toBe('nothing')
    }
  })

  it('is a license like any other once it succeeds', () => {
    expect(written(failed, decide(failed, LICENSED)).license).toMatchObject({ status: 'REGISTERED', unsettled: null })
  })

  it('holds none where CML refused it, or never began', () => {
    for (const observed of [says('FAILED', 'EVAL'), says('NOT_REGISTERED')])
      expect(holdsLicense(written(begun, decide(begun, observed, 131_000)))).toBe(false)
  })

  it('is nothing to release at a stop once CML is seen without it', () => {
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    const stopping = { ...failed, status: 'STOPPING', desired_status: 'STOPPED' } as const
    const after = written(stopping, decide(stopping, says('NOT_REGISTERED'), 1_000, release))
    expect(after.license).toMatchObject({ status: 'FAILED', pending_operation: null, unsettled: null })
    expect(decide(after, says('NOT_REGISTERED'), 1_000, release).action.kind).toBe('stop')
  })
})

describe('a license that LCM has not checked yet', () => {
  const unseen = withLicense({ status: 'UNKNOWN' })

  it('may exist', () => {
    expect(holdsLicense(unseen)).toBe(true)
    expect(decide(unseen, LICENSED).action).toMatchObject({ changes: { license: { status: 'REGISTERED' } } })
    for (const none of ['NOT_REGISTERED', 'FAILED'])
      expect(decide(unseen, says(none)).action).toMatchObject({ changes: { license: { status: 'UNREGISTERED' } } })
    expect(decide(unseen, says('COMPLETED', 'OUT_OF_COMPLIANCE')).action).not.toMatchObject({
      changes: { license: { status: 'UNREGISTERED' } },
    })
  })

  it('is not requested after a stop when there was none', () => {
    const stopping = withLicense({ status: 'UNKNOWN' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' } as const
    const changes = { license: { status: 'UNREGISTERED' } }
    expect(decide(stopping, says('NOT_REGISTERED'), 1_000, release).action).toMatchObject({ changes })
    const after = written(stopping, decide(stopping, says('NOT_REGISTERED'), 1_000, release))
    expect(after.license.pending_operation).toBeNull()
  })
})

describe('the answer of CML to a request', () => {
  const judge = (outcome: LicenseOutcome, worker = withLicense({ pending_operation: 'register' })) =>
    judgeLicense(worker, outcome, { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED })

  it('ends an operation only when it is definite', () => {
    const accepted = (again: boolean) => ({ code: 'license_registration_accepted', params: { again } })
    expect(judge({ kind: 'taken' })).toMatchObject({
      action: { changes: { license: { unsettled: 'register' } } },
      because: accepted(false),
    })
    const again = withLicense({ pending_operation: 'register', unsettled: 'register' })
    expect(judge({ kind: 'taken' }, again)).toMatchObject({ action: { kind: 'wait' }, because: accepted(true) })
    expect(judge({ kind: 'refused', errorClass: 'invalid', message: 'bad token' })).toMatchObject({
      action: { changes: { license: { status: 'FAILED', last_error: 'bad token', pending_operation: null } } },
      because: { code: 'license_request_refused', params: { error: 'bad token' } },
    })
    for (const errorClass of ['transient', 'state', 'auth', 'throttled'])
      expect(judge({ kind: 'refused', errorClass, message: 'not now' })).toMatchObject({
        action: { kind: 'wait' },
        because: { code: 'license_request_refused', params: { error: 'not now' } },
      })
  })

  it('is recorded once as the error when labs keep a license from being returned', () => {
    const worker = withLicense({
      status: 'DEREGISTERING',
      pending_operation: 'deregister',
      operation_started_at: STARTED,
      unsettled: 'deregister',
    })
    const refused = { kind: 'refused', errorClass: 'state', message: 'labs are running' } as const
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED + 30_000 }
    expect(judgeLicense(worker, refused, at).action).toMatchObject({
      changes: { license: { last_error: 'labs are running' } },
    })
    const reported = withLicense({ ...worker.license, last_error: 'labs are running' })
    expect(judgeLicense(reported, refused, at).action.kind).toBe('wait')
  })

  it('records a license that the Smart Account still counts, at once: a second attempt would seem to succeed', () => {
    expect(judge({ kind: 'left_behind' })).toMatchObject({
      action: { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED' } } },
      because: { code: 'license_left_behind' },
    })
  })

  it('keeps a license as held that CML did not return', () => {
    const kept = withLicense({ status: 'DEREGISTERING', pending_operation: 'deregister', unsettled: 'deregister' })
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED }
    const refused = judgeLicense(kept, { kind: 'refused', errorClass: 'invalid', message: 'no' }, at)
    expect(written(kept, refused).license).toMatchObject({ status: 'FAILED', pending_operation: null })
    expect(holdsLicense(written(kept, refused))).toBe(true)
  })

  it('keeps trying when the return before a termination is refused', () => {
    const condemned = withLicense({ status: 'REGISTERED' }, { status: 'TERMINATING', desired_status: 'TERMINATED' })
    expect(judge({ kind: 'refused', errorClass: 'invalid', message: 'no' }, condemned).action.kind).toBe('wait')
  })
})

describe('changes outside LCM', () => {
  it('are recorded', () => {
    expect(decide(withLicense({}), LICENSED).action).toMatchObject({
      changes: { license: { status: 'REGISTERED', udi: 'udi-1' } },
    })
    const ours = withLicense({ status: 'REGISTERED', udi: 'udi-1' })
    expect(decide(ours, says('NOT_REGISTERED')).action).toMatchObject({
      changes: { license: { status: 'UNREGISTERED' } },
    })
    expect(decide(ours, LICENSED).action.kind).toBe('nothing')
  })

  it('do not hide a failure that the user may not have seen yet', () => {
    const failed = withLicense({ status: 'FAILED', udi: 'udi-1', last_error: 'bad token' })
    expect(decide(failed, says('NOT_REGISTERED')).action.kind).toBe('nothing')
  })
})

describe('fleets with fewer licenses than workers', () => {
  const release = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
  const stopping = withLicense(
    { status: 'REGISTERED', udi: 'udi-1' },
    { status: 'STOPPING', desired_status: 'STOPPED' },
  )

  it('return a license before the instance stops, and request it again after the next start', () => {
    const first = decide(stopping, LICENSED, 1_000, release)
    expect(first.because).toMatchObject({ code: 'license_return_started', params: { before: 'stop' } })
    const announced = written(stopping, first)
    expect(announced.license).toMatchObject({ status: 'REGISTERED', unsettled: 'deregister' })
    expect(decide(announced, LICENSED, 1_000, release).action.kind).toBe('deregister_license')
    expect(decide(announced, says('NOT_REGISTERED'), 1_000, release).action, 'the answer was lost').toMatchObject({
      kind: 'record_leak',
      changes: { license: { status: 'UNREGISTERED', unsettled: null, pending_operation: 'register' } },
    })
    const again = { changes: { license: { status: 'UNREGISTERED', pending_operation: 'register' } } }
    expect(
      judgeLicense(stopping, { kind: 'returned' }, { policy: release, instance: anInstance(), nowMs: ENTERED }),
    ).toMatchObject({ action: again, because: { code: 'license_returned', params: { confirmed: true } } })
    expect(decide(stopping, says('NOT_REGISTERED'), 1_000, release)).toMatchObject({
      action: again,
      because: { code: 'license_released_until_start' },
    })
    expect(decide(stopping, LICENSED, 1_000).action.kind, 'a stopped worker keeps its license').toBe('stop')
  })

  it('do not keep an instance running forever because of it', () => {
    const silent: LicenseObservation = { kind: 'unknown', because: textReason('no answer') }
    expect(decide(stopping, silent, 1_000, release).action.kind).toBe('wait')
    expect(decide(stopping, silent, 11 * 60_000, release).action).toEqual({ kind: 'stop', force: false })
  })
})
