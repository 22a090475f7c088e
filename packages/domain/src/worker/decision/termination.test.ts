import { aLicenseObservation, anEc2Observation, anObservation } from '@lcm/testkit/observation-builders'
import { anAttempt, anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../../instant.ts'
import { textReason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { type Ec2Observation, type LicenseObservation, type Observation, WORKER_POLICY } from '../observation.ts'
import { type Worker, withChanges } from '../worker.ts'
import { NO_LICENSE } from '../worker-field-schemas.ts'
import type { Decision } from './decision.ts'
import { judgeLicense } from './license-operation.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const HOUR_MS = 3_600_000
const REGISTERED: Worker['license'] = { ...NO_LICENSE, status: 'REGISTERED', udi: 'udi-1' }
/** The return was requested from CML. */
const ASKED: Worker['license'] = { ...REGISTERED, unsettled: 'deregister' }
const condemned = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'TERMINATING',
    desired_status: 'TERMINATED',
    ec2_instance_id: 'i-1',
    launch: anAttempt(),
    license: REGISTERED,
    ...more,
  })
const licensed = (registration: string): LicenseObservation => aLicenseObservation({ registration })
const SILENT_BECAUSE = textReason('CML did not answer')
const SILENT: LicenseObservation = { kind: 'unknown', because: SILENT_BECAUSE }
const seeing = (ec2: Ec2Observation, license: LicenseObservation | null = null): Observation =>
  anObservation({ ec2, license })
const machine = (state: string, tags = anInstance().tags): Ec2Observation => anEc2Observation({ state, tags })
const decide = (
  worker: Worker,
  observed: Observation,
  { policy = WORKER_POLICY, afterMs = 1_000 }: { policy?: typeof WORKER_POLICY; afterMs?: number } = {},
) => decideWorker(worker, observed, policy, ENTERED + afterMs)

const judgedAt = (afterMs: number) => ({
  policy: WORKER_POLICY,
  instance: anInstance({ state: 'running' }),
  nowMs: ENTERED + afterMs,
})

/** The worker with the changes of the decision. */
function written(worker: Worker, { action }: Decision): Worker {
  return action.kind === 'write' ? withChanges(worker, action.changes) : worker
}

describe('a license is never lost unrecorded', () => {
  it('is returned before its instance is terminated, which follows once CML has confirmed it', () => {
    const worker = condemned()
    const asked = decide(worker, seeing(machine('running'), licensed('COMPLETED')))
    expect(asked).toMatchObject({
      action: { kind: 'write', afterMs: 0, changes: { license: { unsettled: 'deregister' } } },
      because: { code: 'license_return_started', params: { before: 'termination' } },
    })
    expect(decide(written(worker, asked), seeing(machine('running'), licensed('COMPLETED'))).action.kind).toBe(
      'deregister_license',
    )
    expect(decide(worker, seeing(machine('running'), licensed('NOT_REGISTERED')))).toMatchObject({
      action: { changes: { license: { status: 'UNREGISTERED' } }, afterMs: 0 },
      because: { code: 'cml_holds_no_license' },
    })
    expect(decide(condemned({ license: NO_LICENSE }), seeing(machine('running'))).action.kind).toBe('terminate')
  })

  it('is returned also when it was registered outside LCM, and not waited for when none is known', () => {
    const unknown = condemned({ license: NO_LICENSE })
    const found = { kind: 'write', changes: { license: { status: 'REGISTERED', udi: 'udi-1' } }, afterMs: 0 }
    expect(decide(unknown, seeing(machine('running'), licensed('COMPLETED'))).action).toEqual(found)
    expect(decide(unknown, seeing(machine('running'), SILENT)).action.kind).toBe('terminate')
    const late = { afterMs: 2 * HOUR_MS + 1 }
    expect(decide(unknown, seeing(machine('running'), licensed('COMPLETED')), late).action).toEqual(found)
    const onRecord = condemned({ license: { ...NO_LICENSE, last_error: 'it could not be given back' } })
    expect(decide(onRecord, seeing(machine('running'), licensed('COMPLETED')), late).because.code).toBe(
      'termination_overdue',
    )
  })

  it('that was never granted is not requested again and again', () => {
    const registering = condemned({ license: { ...NO_LICENSE, status: 'REGISTERING' } })
    expect(decide(registering, seeing(machine('running'), licensed('FAILED'))).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED' } },
    })
    const refused = condemned({ license: { ...NO_LICENSE, status: 'FAILED', last_error: 'no such token' } })
    expect(decide(refused, seeing(machine('running'), licensed('FAILED'))).action.kind).toBe('terminate')
  })

  it('that was held before a registration outside LCM failed is recorded as possibly lost', () => {
    expect(decide(condemned(), seeing(machine('running'), licensed('FAILED')))).toMatchObject({
      action: { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED' } } },
      because: { code: 'license_replaced_outside_lcm' },
    })
  })

  it('counts as returned only when a later read confirms it', () => {
    for (const license of [ASKED, { ...ASKED, status: 'FAILED' as const }]) {
      const worker = condemned({ license })
      const returned = judgeLicense(worker, { kind: 'returned' }, judgedAt(1_000))
      expect(returned).toMatchObject({
        action: { kind: 'write', afterMs: 5_000, changes: { license: { unsettled: null } } },
        because: { code: 'license_returned', params: { confirmed: false } },
      })
      const after = written(worker, returned)
      expect(decide(after, seeing(machine('running'), SILENT)).because, 'not confirmed').toEqual(SILENT_BECAUSE)
      expect(decide(after, seeing(machine('running'), licensed('NOT_REGISTERED'))).action).toMatchObject({
        kind: 'write',
        changes: { license: { status: 'UNREGISTERED' } },
      })
    }
  })

  it('whose return was not confirmed is recorded as possibly lost before the termination', () => {
    const worker = condemned({ license: ASKED })
    const decision = decide(worker, seeing(machine('running'), licensed('NOT_REGISTERED')))
    expect(decision).toMatchObject({
      action: { kind: 'record_leak', changes: { license: { status: 'UNREGISTERED', unsettled: null } } },
      because: { code: 'license_return_unconfirmed' },
    })
    const heard = { ...seeing(machine('running'), licensed('NOT_REGISTERED')), isReturnHeard: true }
    expect(decide(worker, heard).action).toMatchObject({
      kind: 'write',
      changes: { license: { status: 'UNREGISTERED', unsettled: null } },
    })
  })

  it('is recorded with what is known of it when its instance is gone', () => {
    const because = (license: Partial<Worker['license']>) =>
      decide(condemned({ license: { ...NO_LICENSE, ...license } }), seeing(machine('terminated'))).because
    const lost = (license: string) => ({
      code: 'license_lost',
      params: {
        cause: { code: 'termination_confirmed', params: { instance_id: 'i-1', state: 'terminated' } },
        license,
      },
    })
    expect(because(REGISTERED)).toMatchObject(lost('not_returned'))
    expect(because(ASKED)).toMatchObject(lost('return_unconfirmed'))
    expect(because({ status: 'DEREGISTERING' })).toMatchObject(lost('return_unconfirmed'))
    expect(because({ status: 'FAILED', unsettled: 'register' })).toMatchObject(lost('registering'))
    expect(because({ status: 'UNKNOWN' })).toMatchObject(lost('never_checked'))
  })

  it('is checked after one more boot when a registration timed out, and is none once CML reports so', () => {
    const worker = condemned({ license: { ...NO_LICENSE, status: 'FAILED', unsettled: 'register' } })
    expect(decide(worker, seeing(machine('stopped')))).toMatchObject({
      action: { kind: 'start' },
      because: { code: 'license_return_needs_boot' },
    })
    for (const registration of ['NOT_REGISTERED', 'FAILED'])
      expect(decide(worker, seeing(machine('running'), licensed(registration))).action).toMatchObject({
        kind: 'write',
        changes: { license: { status: 'UNREGISTERED', unsettled: null } },
      })
  })

  it('whose return is refused because labs run is a condition, and then LCM requests to stop the labs', () => {
    const refused = { kind: 'refused', errorClass: 'state', message: 'labs are running' } as const
    const silent = condemned({ service_status: 'UNAVAILABLE' })
    const because = { code: 'license_return_refused', params: { error: 'labs are running' } }
    const reported = judgeLicense(silent, refused, judgedAt(1_000))
    expect(reported.action).toMatchObject({
      kind: 'write',
      afterMs: 0,
      changes: {
        service_status: 'AVAILABLE',
        https_endpoint: 'https://127.64.0.1',
        conditions: [{ type: 'ReturningLicense', status: true, reason: because }],
      },
    })
    const again = judgeLicense(written(silent, reported), refused, judgedAt(2_000))
    expect(again).toMatchObject({ action: { kind: 'stop_labs' }, because })
    const running = { ...written(silent, reported), status: 'RUNNING' as const }
    expect(judgeLicense(running, refused, judgedAt(2_000)).action.kind, 'no termination is requested').toBe('wait')
  })

  it('keeps the instance while CML does not answer, with a condition', () => {
    const decision = decide(condemned(), seeing(machine('running'), SILENT))
    expect(decision.action).toMatchObject({ changes: { conditions: [{ type: 'ReturningLicense', status: true }] } })
    expect(decision.because).toEqual(SILENT_BECAUSE)
  })

  it('is recorded as leaked when it was not returned in time', () => {
    const late = decide(condemned(), seeing(machine('running'), SILENT), { afterMs: 2 * HOUR_MS + 1 })
    expect(late.action).toMatchObject({ kind: 'record_leak', changes: { license: { status: 'UNREGISTERED' } } })
    expect(late.because).toMatchObject({ code: 'license_return_timeout', params: { hours: 2 } })
  })

  it('boots a stopped instance once more to return it, or records it where that is the policy', () => {
    expect(decide(condemned(), seeing(machine('stopped'))).action.kind).toBe('start')
    const policy = { ...WORKER_POLICY, licenseOnTerminate: 'record' as const }
    expect(decide(condemned(), seeing(machine('stopped')), { policy })).toMatchObject({
      action: { kind: 'record_leak' },
      because: { code: 'license_of_stopped_worker' },
    })
  })

  it.each([
    ['terminated', machine('terminated')],
    ['shutting-down', machine('shutting-down')],
    ['absent', { kind: 'absent', confirmed: true, because: textReason('gone') } as const],
  ])('is recorded as leaked when its instance was found %s', (_, observed) => {
    for (const status of ['RUNNING', 'STOPPED', 'TERMINATING', 'FAILED'] as const) {
      const worker = condemned({ status, desired_status: 'RUNNING' })
      expect(decide(worker, seeing(observed)).action.kind, status).toBe('record_leak')
      expect(decide({ ...worker, license: NO_LICENSE }, seeing(observed)).action.kind).not.toBe('record_leak')
    }
  })
})

describe('an instance that is not ours is not changed', () => {
  const bare = condemned({ license: NO_LICENSE })

  it('is not terminated without our tags, and is once they are back', () => {
    const first = decide(bare, seeing(machine('running', {})))
    const drift = { code: 'fleet_tag_missing', params: { tag: 'lcm:fleet', value: 'lcm' } }
    expect(first).toMatchObject({
      action: { changes: { conditions: [{ type: 'TagsChanged', status: true, reason: drift }] } },
      because: { code: 'tags_changed' },
    })
    const reported = {
      ...bare,
      conditions: first.action.kind === 'write' ? (first.action.changes.conditions ?? []) : [],
    }
    const second = decide(reported, seeing(machine('running', {})))
    expect(second.action).toMatchObject({
      changes: {
        conditions: [
          {},
          { type: 'NotOurs', reason: { code: 'ownership_tag_missing', params: { instance_id: 'i-1' } } },
        ],
      },
    })
    const back = decide(reported, seeing(machine('running')))
    expect(back.action).toMatchObject({ changes: { conditions: [] } })
    expect(decide(bare, seeing(machine('running'))).action.kind).toBe('terminate')
  })

  it('has the whole timeout to return a license once it is ours again, however long that took', () => {
    const bareTags = machine('running', {})
    let worker = condemned()
    for (const afterMs of [1_000, 2_000])
      worker = written(worker, decide(worker, seeing(bareTags, licensed('COMPLETED')), { afterMs }))
    expect(worker.conditions).toMatchObject([{ type: 'TagsChanged' }, { type: 'NotOurs', status: true }])
    const backMs = 5 * HOUR_MS
    const back = decide(worker, seeing(machine('running'), SILENT), { afterMs: backMs })
    expect(back.action).toMatchObject({
      kind: 'write',
      changes: { conditions: [{ type: 'NotOurs', status: false, reason: { code: 'ownership_restored' } }] },
    })
    worker = written(worker, back)
    worker = { ...worker, license: ASKED }
    const after = (afterMs: number) =>
      decide(worker, seeing(machine('running'), licensed('COMPLETED')), { afterMs: backMs + afterMs }).action.kind
    expect(after(1_000)).toBe('deregister_license')
    expect(after(2 * HOUR_MS)).toBe('deregister_license')
    expect(after(2 * HOUR_MS + 1)).toBe('record_leak')
    const bareAgain = { ...worker, license: NO_LICENSE }
    const late = decide(bareAgain, seeing(machine('running')), { afterMs: backMs + 1_000 })
    expect(late.action.kind, 'EC2 was not asked before').toBe('terminate')
  })

  it('loses the condition NotOurs when the foreign tag is gone', () => {
    const run = condemned({ status: 'RUNNING', desired_status: 'RUNNING' })
    const foreign = machine('running', { 'lcm:fleet': 'theirs' })
    const reported = written(run, decide(run, seeing(foreign)))
    expect(decide(reported, seeing(machine('running'))).action).toMatchObject({
      changes: { conditions: [{ type: 'NotOurs', status: false }] },
    })
  })

  it('is neither stopped, started nor terminated when it has the tag of another fleet', () => {
    const foreign = machine('running', { 'lcm:fleet': 'theirs', 'cml-managed': 'true' })
    for (const desired_status of ['RUNNING', 'STOPPED', 'TERMINATED'] as const) {
      for (const status of ['STARTING', 'STOPPING', 'TERMINATING', 'RUNNING'] as const) {
        const { action } = decide(condemned({ status, desired_status, license: NO_LICENSE }), seeing(foreign))
        expect(action).toMatchObject({
          kind: 'write',
          changes: { conditions: [{ type: 'NotOurs', reason: { code: 'owned_by_other_fleet' } }] },
        })
      }
    }
  })

  it('may be terminated by its discovery tag, if it was discovered', () => {
    const found = condemned({ origin: 'DISCOVERY', license: NO_LICENSE })
    const marked = machine('running', { 'cml-managed': 'true' })
    expect(decide(found, seeing(marked)).action.kind).toBe('terminate')
    expect(decide(bare, seeing(marked)).action.kind, 'not one that LCM launched').toBe('write')
    const policy = { ...WORKER_POLICY, discoveryTag: null }
    expect(decide(found, seeing(marked), { policy }).action.kind).toBe('write')
  })
})

it('sets one condition when EC2 takes too long, and keeps calling it', () => {
  const worker = condemned({ license: { ...NO_LICENSE, udi: 'udi-1' } })
  const late = { afterMs: 21 * 60_000 }
  const reported = decide(worker, seeing(machine('running')), late)
  const overdue = { code: 'termination_overdue', params: { minutes: 20 } }
  expect(reported.action).toMatchObject({
    changes: { conditions: [{ type: 'Overdue', status: true, reason: overdue }] },
    afterMs: 0,
  })
  const conditions = reported.action.kind === 'write' ? (reported.action.changes.conditions ?? []) : []
  expect(decide({ ...worker, conditions }, seeing(machine('running')), late).action.kind).toBe('terminate')
  const gaveBack = condemned({ license: { ...REGISTERED, status: 'UNREGISTERED', product: 'CML_Enterprise' } })
  expect(decide(gaveBack, seeing(machine('running')), late).action.kind, 'that took its own time').toBe('terminate')
})

it('keeps serving while its license is returned', () => {
  const { action } = decide(condemned({ status: 'RUNNING', service_status: 'AVAILABLE' }), seeing(machine('running')))
  expect(action).toEqual({ kind: 'write', changes: { status: 'TERMINATING' }, afterMs: 0 })
})
