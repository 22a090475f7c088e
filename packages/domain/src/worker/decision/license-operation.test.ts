import { anInstance, aWorker } from '@lcm/testkit/builders'
import { aLicenseSight, anObservation, onMachine } from '@lcm/testkit/observations'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { decideWorker } from '../decide.ts'
import { type LicenseSight, WORKER_POLICY } from '../observation.ts'
import { NO_LICENSE } from '../parts.ts'
import { type Worker, withChanges } from '../worker.ts'
import type { Decision } from './decision.ts'
import { holdsLicense, judgeLicense, type LicenseOutcome } from './license-operation.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const STARTED = toInstant(ENTERED + 10_000)
const withLicense = (license: Partial<Worker['license']>, more: Partial<Worker> = {}): Worker =>
  onMachine({ license: { ...NO_LICENSE, ...license }, ...more })
const says = (registration: string, authorization = 'INIT', more: object = {}): LicenseSight =>
  aLicenseSight({ registration, authorization, product: 'CML_Enterprise', ...more })
const LICENSED = says('COMPLETED', 'IN_COMPLIANCE')
const OTHER = says('COMPLETED', 'IN_COMPLIANCE', { product: 'CML_Personal' })
const decide = (worker: Worker, license: LicenseSight | null, afterMs = 20_000, policy = WORKER_POLICY) =>
  decideWorker(worker, anObservation({ license }), policy, ENTERED + afterMs)
/** The worker with what the decision writes of it. */
const written = (worker: Worker, { action }: Decision): Worker =>
  'changes' in action && action.changes !== null ? withChanges(worker, action.changes) : worker

describe('a machine that LCM did not launch', () => {
  const found = (license: Partial<Worker['license']>, more: Partial<Worker> = {}) =>
    withLicense(license, { origin: 'DISCOVERY', launch: null, ...more })
  const asked = { product: 'CML_Enterprise', pending_operation: 'register' } as const

  it.each<[string, Worker, LicenseSight]>([
    ['of which nobody knows whether it is licensed', found({ ...asked, status: 'UNKNOWN' }), says('NOT_REGISTERED')],
    ['that holds another license', found({ ...asked, status: 'REGISTERED' }), OTHER],
    [
      'that LCM cannot log in to',
      found({ ...asked, status: 'UNKNOWN' }),
      { kind: 'unknown', because: 'no credentials' },
    ],
  ])('%s gets no token, and keeps what it holds', (_, worker, sight) => {
    const { status } = worker.license
    const { action, because } = decide(worker, sight)
    expect(because).toContain('LCM did not launch this machine, so it is not sent a license token')
    expect(action).toMatchObject({ changes: { license: { status, pending_operation: null, last_error: because } } })
  })

  it('is not taken for unlicensed after a registration that an older version began', () => {
    const begun = found({ ...asked, status: 'REGISTERING', operation_started_at: STARTED })
    expect(decide(begun, says('NOT_REGISTERED')).action).toMatchObject({ changes: { license: { status: 'UNKNOWN' } } })
    const taken = found({ ...begun.license, unsettled: 'register' })
    expect(decide(taken, LICENSED).action).toMatchObject({ changes: { license: { status: 'REGISTERED' } } })
  })

  it('keeps its license when it stops, since LCM could not register it again', () => {
    const policy = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    const stopping = found({ status: 'REGISTERED' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    expect(decide(stopping, LICENSED, 20_000, policy).action.kind).toBe('stop')
    expect(decide({ ...stopping, launch: onMachine().launch }, LICENSED, 20_000, policy).action.kind).toBe('write')
  })
})

describe('registering', () => {
  const asked = withLicense({ product: 'CML_Enterprise', pending_operation: 'register' })
  const begun = withLicense({ ...asked.license, status: 'REGISTERING', operation_started_at: STARTED })
  const taken = withLicense({ ...begun.license, unsettled: 'register' })

  it('is announced, then asked for, then waited for', () => {
    expect(decide(asked, says('NOT_REGISTERED')).action).toMatchObject({
      changes: { license: { status: 'REGISTERING', udi: 'udi-1' } },
      afterMs: 0,
    })
    expect(decide(begun, says('NOT_REGISTERED')).action.kind).toBe('register_license')
    expect(decide(begun, says('IN_PROGRESS')).action).toEqual({ kind: 'wait', afterMs: 5_000 })
    expect(decide(taken, says('COMPLETED')).action.kind).toBe('wait')
    expect(decide(taken, LICENSED).action).toMatchObject({
      changes: { license: { status: 'REGISTERED', pending_operation: null, operation_started_at: null, udi: 'udi-1' } },
    })
  })

  it('keeps the name by which the Smart Account knows the server, and an older one while CML says none', () => {
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

  it('is over when a leader before us has done it, but not when the product is another', () => {
    expect(decide(asked, LICENSED).action).toMatchObject({ changes: { license: { status: 'REGISTERED' } } })
    expect(decide(asked, OTHER).action).toMatchObject({ changes: { license: { status: 'REGISTERING' } } })
    expect(decide(begun, says('COMPLETED', 'IN_COMPLIANCE', { product: null })).action).toMatchObject({
      changes: { license: { status: 'REGISTERED' } },
    })
  })

  it('has what CML holds given back first: if it fails, nobody could tell whether that is still counted', () => {
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
    expect(decide(begun, OTHER).because).toBe('CML has CML_Personal, and CML_Enterprise is wanted')
  })

  it('waits for labs that keep CML from giving back what it holds, and says so', () => {
    const giving = withLicense({ ...begun.license, unsettled: 'deregister' })
    const refused = { kind: 'refused', errorClass: 'state', message: 'labs are running' } as const
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED + 30_000 }
    expect(judgeLicense(giving, refused, at).action).toMatchObject({
      changes: { license: { last_error: 'labs are running' } },
    })
    expect(decide(giving, OTHER, 10 * 3_600_000).action.kind).toBe('deregister_license')
  })

  it('does not give back what CML may just have been given, when nobody heard that it took the token', () => {
    expect(decide(begun, says('COMPLETED', 'INIT')).action.kind).toBe('wait')
    expect(decide(taken, OTHER).action.kind).toBe('wait')
    expect(decide(taken, OTHER, 131_000).action).toMatchObject({
      changes: { license: { status: 'FAILED', unsettled: 'register' } },
    })
  })

  it('is asked for whatever came of an earlier one', () => {
    expect(decide(begun, says('FAILED', 'EVAL')).action.kind).toBe('register_license')
  })

  it('keeps a license in mind that CML may hold after all', () => {
    const late = decide(taken, says('COMPLETED', 'OUT_OF_COMPLIANCE'), 131_000)
    expect(late.action).toMatchObject({ changes: { license: { status: 'FAILED', unsettled: 'register' } } })
  })

  it('has its time anew when the worker was stopped in between and runs again', () => {
    const again = { ...begun, entered_status_at: toInstant(ENTERED + 86_400_000) }
    expect(decide(again, says('NOT_REGISTERED'), 86_410_000).action.kind).toBe('register_license')
    expect(decide(again, says('NOT_REGISTERED'), 86_400_000 + WORKER_POLICY.licenseMsMax).action).toMatchObject({
      changes: { license: { status: 'FAILED' } },
    })
  })

  it('fails with the words of CML', () => {
    const refused = says('FAILED', 'EVAL', { failure: 'the token is not valid' })
    expect(decide(taken, refused).action).toMatchObject({
      changes: { license: { status: 'FAILED', last_error: 'the token is not valid', pending_operation: null } },
    })
  })

  it.each([
    ['RETRY_IN_PROGRESS', 'EVAL', 'still RETRY_IN_PROGRESS, EVAL after 120 s: not reached'],
    ['COMPLETED', 'OUT_OF_COMPLIANCE', 'still COMPLETED, OUT_OF_COMPLIANCE after 120 s: not reached'],
    ['NOT_REGISTERED', 'INIT', 'CML never began to register'],
  ])('fails when it is %s and %s for too long', (registration, authorization, words) => {
    const sight = says(registration, authorization, { failure: 'not reached' })
    expect(decide(taken, sight, 131_000).action).toMatchObject({
      changes: { license: { status: 'FAILED', last_error: words, pending_operation: null } },
    })
  })

  it('is kept as it is while CML does not answer, however long', () => {
    const silent: LicenseSight = { kind: 'unknown', because: 'no answer' }
    expect(decide(begun, silent, 10 * 3_600_000).action.kind).toBe('wait')
  })
})

it('gives a license back when asked to', () => {
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

describe('a license that was held before a registration by somebody else failed', () => {
  const FAILED = says('FAILED', 'EVAL')
  const POSSIBLE = { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED', unsettled: null } } }

  it('may be lost, which is recorded when it is to be given back, released or registered anew', () => {
    const returning = withLicense({ status: 'REGISTERED', pending_operation: 'deregister' })
    expect(decide(returning, FAILED).action).toMatchObject(POSSIBLE)
    const anew = withLicense({ status: 'REGISTERED', pending_operation: 'register' })
    expect(written(anew, decide(anew, FAILED)).license.pending_operation).toBe('register')
    const stopping = withLicense({ status: 'REGISTERED' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    expect(decide(stopping, FAILED, 1_000, release).action).toMatchObject(POSSIBLE)
    expect(decide(stopping, FAILED, 1_000, release).because).toMatch(/may still count/)
  })

  it('is waited for while nobody wants anything of it', () => {
    expect(decide(withLicense({ status: 'REGISTERED', udi: 'udi-1' }), FAILED).action.kind).toBe('nothing')
  })
})

describe('a license that CML was asked to give back, and nobody heard its answer', () => {
  const GONE = says('NOT_REGISTERED')
  const POSSIBLE = { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED', unsettled: null } } }
  const asked = withLicense({
    status: 'DEREGISTERING',
    pending_operation: 'deregister',
    operation_started_at: STARTED,
    unsettled: 'deregister',
    udi: 'udi-1',
  })

  it('may be lost once CML holds it no more, which is recorded as no more than that', () => {
    const decision = decide(asked, GONE)
    expect(decision.action).toMatchObject(POSSIBLE)
    expect(decision.action).toMatchObject({ changes: { license: { pending_operation: null } } })
    expect(decision.because).toMatch(/nobody heard its answer: the Smart Account may still count it/)
    expect(decide(written(asked, decision), GONE).action.kind, 'once').toBe('nothing')
  })

  it('is asked for again while CML holds it, and is no loss where the registration had failed', () => {
    expect(decide(asked, LICENSED).action.kind).toBe('deregister_license')
    expect(decide(asked, says('FAILED')).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED', unsettled: null } },
    })
  })

  it('is judged by the next look when CML says that it had none', () => {
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED }
    expect(judgeLicense(asked, { kind: 'not_registered' }, at).action.kind).toBe('wait')
  })

  it('is given back for all we know when this term has heard so, though another write came between', () => {
    const heard = anObservation({ license: GONE, isReturnHeard: true })
    expect(decideWorker(asked, heard, WORKER_POLICY, ENTERED + 20_000).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED', unsettled: null, last_error: null } },
    })
  })

  it('may be lost also when somebody has asked for a new one since, who then gets it', () => {
    const anew = withLicense({ ...asked.license, pending_operation: 'register', operation_started_at: null })
    const decision = decide(anew, GONE)
    expect(decision.action).toMatchObject(POSSIBLE)
    const after = written(anew, decision)
    expect(after.license.pending_operation).toBe('register')
    expect(decide(after, GONE).action).toMatchObject({ changes: { license: { status: 'REGISTERING' } } })
  })

  it('may be lost also when the machine was stopped before anybody could look', () => {
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

describe('a registration that was given up while CML was still at it', () => {
  const begun = withLicense({ status: 'REGISTERING', pending_operation: 'register', operation_started_at: STARTED })
  const late = decide(begun, says('RETRY_IN_PROGRESS', 'EVAL'), 131_000)
  const failed = written(begun, late)

  it('counts as a license that is held until CML is seen without one', () => {
    expect(failed.license).toMatchObject({ status: 'FAILED', unsettled: 'register' })
    expect(holdsLicense(failed)).toBe(true)
    expect(decide(failed, says('RETRY_IN_PROGRESS', 'EVAL')).action.kind).toBe('nothing')
    for (const registration of ['NOT_REGISTERED', 'FAILED']) {
      const after = written(failed, decide(failed, says(registration)))
      expect(after.license, 'it is still shown').toMatchObject({ status: 'FAILED', last_error: late.because })
      expect(holdsLicense(after)).toBe(false)
      expect(decide(after, says(registration)).action.kind).toBe('nothing')
    }
  })

  it('is a license like any other once it succeeds', () => {
    expect(written(failed, decide(failed, LICENSED)).license).toMatchObject({ status: 'REGISTERED', unsettled: null })
  })

  it('holds none where CML refused it, or never began', () => {
    for (const sight of [says('FAILED', 'EVAL'), says('NOT_REGISTERED')])
      expect(holdsLicense(written(begun, decide(begun, sight, 131_000)))).toBe(false)
  })

  it('is nothing to release at a stop once CML is seen without it', () => {
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' as const }
    const stopping = { ...failed, status: 'STOPPING', desired_status: 'STOPPED' } as const
    const after = written(stopping, decide(stopping, says('NOT_REGISTERED'), 1_000, release))
    expect(after.license).toMatchObject({ status: 'FAILED', pending_operation: null, unsettled: null })
    expect(decide(after, says('NOT_REGISTERED'), 1_000, release).action.kind).toBe('stop')
  })
})

describe('a license that nobody here has looked at yet', () => {
  const unseen = withLicense({ status: 'UNKNOWN' })

  it('may be there', () => {
    expect(holdsLicense(unseen)).toBe(true)
    expect(decide(unseen, LICENSED).action).toMatchObject({ changes: { license: { status: 'REGISTERED' } } })
    for (const none of ['NOT_REGISTERED', 'FAILED'])
      expect(decide(unseen, says(none)).action).toMatchObject({ changes: { license: { status: 'UNREGISTERED' } } })
    expect(decide(unseen, says('COMPLETED', 'OUT_OF_COMPLIANCE')).action).not.toMatchObject({
      changes: { license: { status: 'UNREGISTERED' } },
    })
  })

  it('is not asked for after a stop when there was none', () => {
    const stopping = withLicense({ status: 'UNKNOWN' }, { status: 'STOPPING', desired_status: 'STOPPED' })
    const release = { ...WORKER_POLICY, licenseOnStop: 'release' } as const
    const changes = { license: { status: 'UNREGISTERED' } }
    expect(decide(stopping, says('NOT_REGISTERED'), 1_000, release).action).toMatchObject({ changes })
    const after = written(stopping, decide(stopping, says('NOT_REGISTERED'), 1_000, release))
    expect(after.license.pending_operation).toBeNull()
  })
})

describe('what CML made of a request', () => {
  const judge = (outcome: LicenseOutcome, worker = withLicense({ pending_operation: 'register' })) =>
    judgeLicense(worker, outcome, { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED }).action

  it('ends an operation only when it is definite', () => {
    expect(judge({ kind: 'taken' })).toMatchObject({ changes: { license: { unsettled: 'register' } } })
    const again = withLicense({ pending_operation: 'register', unsettled: 'register' })
    expect(judge({ kind: 'taken' }, again).kind).toBe('wait')
    expect(judge({ kind: 'refused', errorClass: 'invalid', message: 'bad token' })).toMatchObject({
      changes: { license: { status: 'FAILED', last_error: 'bad token', pending_operation: null } },
    })
    for (const errorClass of ['transient', 'state', 'auth', 'throttled'])
      expect(judge({ kind: 'refused', errorClass, message: 'not now' }).kind).toBe('wait')
  })

  it('is told to whoever waits for a license to be given back while labs run, once', () => {
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
    const told = withLicense({ ...worker.license, last_error: 'labs are running' })
    expect(judgeLicense(told, refused, at).action.kind).toBe('wait')
  })

  it('records a license that the Smart Account still counts, at once: a second try would look like success', () => {
    expect(judge({ kind: 'left_behind' })).toMatchObject({
      kind: 'record_leak',
      changes: { license: { status: 'UNREGISTERED' } },
    })
  })

  it('leaves a license held that CML would not give back', () => {
    const kept = withLicense({ status: 'DEREGISTERING', pending_operation: 'deregister', unsettled: 'deregister' })
    const at = { policy: WORKER_POLICY, instance: anInstance(), nowMs: ENTERED }
    const refused = judgeLicense(kept, { kind: 'refused', errorClass: 'invalid', message: 'no' }, at)
    expect(written(kept, refused).license).toMatchObject({ status: 'FAILED', pending_operation: null })
    expect(holdsLicense(written(kept, refused))).toBe(true)
  })

  it('goes on trying when a machine that is to go is refused', () => {
    const condemned = withLicense({ status: 'REGISTERED' }, { status: 'TERMINATING', desired_status: 'TERMINATED' })
    expect(judge({ kind: 'refused', errorClass: 'invalid', message: 'no' }, condemned).kind).toBe('wait')
  })
})

describe('what others did', () => {
  it('is taken for what it is', () => {
    expect(decide(withLicense({}), LICENSED).action).toMatchObject({
      changes: { license: { status: 'REGISTERED', udi: 'udi-1' } },
    })
    const ours = withLicense({ status: 'REGISTERED', udi: 'udi-1' })
    expect(decide(ours, says('NOT_REGISTERED')).action).toMatchObject({
      changes: { license: { status: 'UNREGISTERED' } },
    })
    expect(decide(ours, LICENSED).action.kind).toBe('nothing')
  })

  it('does not hide a failure that nobody has seen yet', () => {
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

  it('release a license before the machine stops, and ask for it again after the next start', () => {
    const announced = written(stopping, decide(stopping, LICENSED, 1_000, release))
    expect(announced.license).toMatchObject({ status: 'REGISTERED', unsettled: 'deregister' })
    expect(decide(announced, LICENSED, 1_000, release).action.kind).toBe('deregister_license')
    expect(decide(announced, says('NOT_REGISTERED'), 1_000, release).action, 'nobody heard of it').toMatchObject({
      kind: 'record_leak',
      changes: { license: { status: 'UNREGISTERED', unsettled: null, pending_operation: 'register' } },
    })
    expect(
      judgeLicense(stopping, { kind: 'returned' }, { policy: release, instance: anInstance(), nowMs: ENTERED }).action,
    ).toMatchObject({
      changes: { license: { status: 'UNREGISTERED', pending_operation: 'register' } },
    })
    expect(decide(stopping, says('NOT_REGISTERED'), 1_000, release).action).toMatchObject({
      changes: { license: { status: 'UNREGISTERED', pending_operation: 'register' } },
    })
    expect(decide(stopping, LICENSED, 1_000).action.kind, 'a stopped worker keeps its license').toBe('stop')
  })

  it('do not keep a machine running for ever because of it', () => {
    const silent: LicenseSight = { kind: 'unknown', because: 'no answer' }
    expect(decide(stopping, silent, 1_000, release).action.kind).toBe('wait')
    expect(decide(stopping, silent, 11 * 60_000, release).action).toEqual({ kind: 'stop', force: false })
  })
})
