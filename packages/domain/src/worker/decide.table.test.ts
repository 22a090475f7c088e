import { aLicenseObservation, anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import { reason, textReason } from '../reason.ts'
import { bootReached, withBoot } from './boot-stages.ts'
import { decideWorker } from './decide.ts'
import type { Decision } from './decision/decision.ts'
import { type Ec2Observation, type Observation, WORKER_POLICY } from './observation.ts'
import type { Worker } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'

const ENTERED = aWorker().entered_status_at
const SOON = toMs(ENTERED) + 10_000

const ec2 = (state: string): Ec2Observation =>
  anEc2Observation({ state, ...(state === 'running' ? {} : { public_ip: null }) })
const GONE: Ec2Observation = { kind: 'absent', confirmed: true, because: textReason('gone') }
const LICENSED = aLicenseObservation()
const UNLICENSED = aLicenseObservation({ registration: 'NOT_REGISTERED', authorization: 'INIT' })
const REGISTERED: Worker['license'] = { ...NO_LICENSE, status: 'REGISTERED', udi: 'udi-1' }

const decide = (worker: Worker, observed: Ec2Observation, more: Partial<Observation> = {}): Decision =>
  decideWorker(worker, anObservation({ ec2: observed, ...more }), WORKER_POLICY, SOON)

type Seeing = readonly [Ec2Observation, Partial<Observation>?]

/** The result in one word: the new status, else the action. */
function doneBy({ action }: Decision): string {
  return action.kind === 'write' ? (action.changes.status ?? 'write') : action.kind
}

/** The path when every announcement is accepted, one reconcile after the other, until the cloud changes or nothing is left. */
function pathOf(worker: Worker, observed: Ec2Observation, more: Partial<Observation> = {}): string {
  const path: string[] = []
  let now = worker
  for (let reconciles = 0; reconciles < 5; reconciles += 1) {
    const decision = decide(now, observed, more)
    path.push(doneBy(decision))
    if (decision.action.kind !== 'write') break
    now = {
      ...now,
      ...decision.action.changes,
      cml: now.cml,
      license: { ...now.license, ...decision.action.changes.license },
    }
    if (decision.action.afterMs !== 0) break
  }
  return path.join(' ')
}

describe('the examples of a reconciliation', () => {
  it.each<[string, string, Worker, Seeing]>([
    [
      'RUNNING is desired, EC2 stopped',
      'STARTING start',
      onMachine({ status: 'STOPPED', public_ip: null, https_endpoint: null }),
      [ec2('stopped')],
    ],
    [
      'RUNNING is desired, CML unlicensed, a registration pending',
      'write register_license',
      onMachine({ license: { ...NO_LICENSE, pending_operation: 'register' } }),
      [ec2('running'), { license: UNLICENSED }],
    ],
    [
      'RUNNING is desired, CML unlicensed, nothing pending',
      'write nothing',
      onMachine(),
      [ec2('running'), { license: UNLICENSED }],
    ],
    [
      'RUNNING is desired, CML licensed',
      'nothing',
      onMachine({ license: REGISTERED }),
      [ec2('running'), { license: LICENSED }],
    ],
    ['STOPPED is desired, EC2 running', 'STOPPING stop', onMachine({ desired_status: 'STOPPED' }), [ec2('running')]],
    [
      'TERMINATED is desired, EC2 running',
      'TERMINATING terminate',
      onMachine({ desired_status: 'TERMINATED' }),
      [ec2('running')],
    ],
    [
      'TERMINATED is desired, EC2 stopped',
      'TERMINATING terminate',
      onMachine({ status: 'STOPPED', desired_status: 'TERMINATED' }),
      [ec2('stopped')],
    ],
    ['RUNNING is desired, the machine is gone: no second machine', 'TERMINATED', onMachine(), [GONE]],
  ])('%s: %s', (_, path, worker, [observed, more]) => {
    expect(pathOf(worker, observed, more)).toBe(path)
  })
})

describe('the EC2 state as a status', () => {
  const before = [
    {
      from: 'PROVISIONING',
      to: 'STARTING',
      at: ENTERED,
      because: reason('ec2_reports', { state: 'running' }),
    } as const,
  ]

  it.each([
    ['pending', 'STARTING'],
    ['running', 'RUNNING'],
    ['stopping', 'STOPPING'],
    ['stopped', 'STOPPED'],
    ['shutting-down', 'TERMINATING'],
    ['terminated', 'TERMINATED'],
    ['hibernating', 'wait'],
  ])('%s of a worker that has run and is UNKNOWN: %s', (state, done) => {
    expect(doneBy(decide(onMachine({ status: 'UNKNOWN', state_history: [...before] }), ec2(state)))).toBe(done)
  })

  it.each([
    ['pending', 'STARTING'],
    ['running', 'nothing'],
    ['stopping', 'write'],
    ['stopped', 'STOPPED'],
    ['shutting-down', 'TERMINATING'],
    ['terminated', 'TERMINATED'],
    ['hibernating', 'UNKNOWN'],
  ])('%s of a RUNNING worker: %s', (state, done) => {
    expect(doneBy(decide(onMachine(), ec2(state)))).toBe(done)
  })
})

describe('readiness', () => {
  it.each([
    ['running', 'STARTING'],
    ['pending', 'wait'],
    ['stopped', 'STOPPED'],
    ['shutting-down', 'wait'],
    ['terminated', 'PENDING'],
  ])('PROVISIONING, EC2 %s: %s', (state, done) => {
    expect(doneBy(decide(onMachine({ status: 'PROVISIONING' }), ec2(state)))).toBe(done)
  })

  it('PROVISIONING, and nothing was ever launched: PENDING', () => {
    expect(doneBy(decide(aWorker({ status: 'PROVISIONING' }), GONE))).toBe('PENDING')
  })

  it.each([
    ['stopped', 'start'],
    ['stopping', 'wait'],
    ['pending', 'wait'],
    ['shutting-down', 'TERMINATING'],
    ['terminated', 'TERMINATED'],
  ])('STARTING, EC2 %s: %s', (state, done) => {
    expect(doneBy(decide(onMachine({ status: 'STARTING' }), ec2(state)))).toBe(done)
  })
})

describe('the way down', () => {
  const stopping = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })

  it.each<[string, Worker, Ec2Observation, string]>([
    ['without a machine', aWorker({ status: 'STOPPING', desired_status: 'STOPPED' }), GONE, 'STOPPED'],
    ['its machine gone: its disk is gone too', stopping, GONE, 'TERMINATED'],
    ['EC2 stopped', stopping, ec2('stopped'), 'STOPPED'],
    ['EC2 running', stopping, ec2('running'), 'stop'],
    ['EC2 stopping', stopping, ec2('stopping'), 'wait'],
    ['EC2 pending', stopping, ec2('pending'), 'wait'],
    ['EC2 shutting-down', stopping, ec2('shutting-down'), 'TERMINATING'],
    ['EC2 terminated', stopping, ec2('terminated'), 'TERMINATED'],
  ])('STOPPING, %s', (_, worker, observed, done) => {
    expect(doneBy(decide(worker, observed))).toBe(done)
  })

  it('STOPPING, EC2 stopping: records once that the machine no longer runs, which ends its billing', () => {
    const ran = { ...stopping, conditions: withBoot([], 6, toMs(ENTERED)) }
    const { action } = decide(ran, ec2('stopping'))
    const changes = action.kind === 'write' ? action.changes : {}
    expect(changes.conditions).toContainEqual(expect.objectContaining({ type: 'InstanceRunning', status: false }))
    expect(doneBy(decide({ ...ran, ...changes } as Worker, ec2('stopping')))).toBe('wait')
  })

  it.each<[string, Ec2Observation, string]>([
    ['EC2 running, with a session', ec2('running'), 'wait'],
    ['EC2 stopping outside LCM', ec2('stopping'), 'write'],
    ['EC2 shutting-down', ec2('shutting-down'), 'TERMINATING'],
    ['EC2 stopped', ec2('stopped'), 'STOPPED'],
    ['EC2 pending again', ec2('pending'), 'STARTING'],
    ['EC2 terminated', ec2('terminated'), 'TERMINATED'],
    ['its machine gone', GONE, 'TERMINATED'],
  ])('DRAINING, %s', (_, observed, done) => {
    const session = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(ENTERED) }
    const deadline = toInstant(SOON + 3_600_000)
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const drain = { requested_at: ENTERED, by: 'ann', reason: '', then: 'STOPPED', deadline } as const
    const worker = onMachine({ status: 'DRAINING', drain, reservations: { 'ls-1': session } })
    expect(doneBy(decide(worker, observed))).toBe(done)
  })
})

describe('the way out', () => {
  const ending = onMachine({ status: 'TERMINATING', desired_status: 'TERMINATED' })

  it.each<[string, Worker, Ec2Observation, string]>([
    ['without a machine', aWorker({ status: 'TERMINATING', desired_status: 'TERMINATED' }), GONE, 'TERMINATED'],
    ['its machine gone', ending, GONE, 'TERMINATED'],
    ['EC2 terminated', ending, ec2('terminated'), 'TERMINATED'],
    ['EC2 shutting-down', ending, ec2('shutting-down'), 'wait'],
    ['EC2 running', ending, ec2('running'), 'terminate'],
    ['EC2 pending', ending, ec2('pending'), 'terminate'],
    ['EC2 stopping', ending, ec2('stopping'), 'terminate'],
    ['EC2 stopped', ending, ec2('stopped'), 'terminate'],
  ])('TERMINATING, %s', (_, worker, observed, done) => {
    expect(doneBy(decide(worker, observed))).toBe(done)
  })

  it('one miss does not confirm the termination', () => {
    expect(doneBy(decide(ending, { kind: 'absent', confirmed: false, because: textReason('missed once') }))).toBe(
      'wait',
    )
  })
})

describe('RUNNING: the checks, each before those below it', () => {
  const pending = { ...NO_LICENSE, pending_operation: 'register' } as const
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  const drain: Worker['drain'] = { requested_at: ENTERED, by: 'ann', reason: '', then: 'STOPPED', deadline: ENTERED }
  const everythingDue = { license: UNLICENSED, isSurveyDue: true } as const
  const moved: Ec2Observation = { kind: 'instance', instance: anInstance({ public_ip: '127.64.0.9' }) }
  const silent = { stage: 'TCP', ready_streak: 0, version: null, certificate_sha256: null, detail: 'refused' } as const

  it.each<[string, string, Worker, Seeing]>([
    [
      '1 TERMINATED is desired',
      'TERMINATING',
      onMachine({ desired_status: 'TERMINATED', drain, license: pending }),
      [moved, { ...everythingDue, cml: silent }],
    ],
    [
      '1 STOPPED is desired',
      'STOPPING',
      onMachine({ desired_status: 'STOPPED', drain, license: pending }),
      [moved, { ...everythingDue, cml: silent }],
    ],
    [
      '1 a drain is requested',
      'DRAINING',
      onMachine({ drain, license: pending }),
      [moved, { ...everythingDue, cml: silent }],
    ],
    [
      '2 its address changed',
      'write public_ip',
      onMachine({ license: pending }),
      [moved, { ...everythingDue, cml: silent }],
    ],
    [
      '3 its CML does not answer',
      'write service_status',
      onMachine({ license: pending }),
      [ec2('running'), { ...everythingDue, cml: silent }],
    ],
    [
      '4 a license operation is pending',
      'write license',
      onMachine({ license: pending }),
      [ec2('running'), everythingDue],
    ],
    ['5 an idle check is due', 'survey', onMachine(), [ec2('running'), { isSurveyDue: true }]],
    ['6 nothing is left: scaling down follows from the check', 'nothing', onMachine(), [ec2('running')]],
  ])('%s', (_, done, worker, [observed, more]) => {
    const { action } = decide(worker, observed, more)
    const named = action.kind === 'write' ? (action.changes.status ?? `write ${firstOf(action.changes)}`) : action.kind
    expect(named).toBe(done)
  })
})

/** The fields that differ between the checks. */
const firstOf = (changes: object): string =>
  ['public_ip', 'service_status', 'license'].find(name => name in changes) ?? Object.keys(changes).join()

describe('the sweep of a new leader, for a worker that is recorded as STOPPED', () => {
  const stopped = (more: Partial<Worker> = {}) =>
    onMachine({ status: 'STOPPED', service_status: 'UNAVAILABLE', public_ip: null, https_endpoint: null, ...more })

  it.each<[string, string, Worker, Ec2Observation]>([
    ['EC2 terminated', 'TERMINATED', stopped({ desired_status: 'STOPPED' }), ec2('terminated')],
    ['its machine gone', 'TERMINATED', stopped({ desired_status: 'STOPPED' }), GONE],
    [
      'EC2 running, STOPPED is desired',
      'RUNNING STOPPING stop',
      stopped({ desired_status: 'STOPPED' }),
      ec2('running'),
    ],
    ['EC2 stopped, RUNNING is desired', 'STARTING start', stopped(), ec2('stopped')],
    [
      'EC2 stopped, TERMINATED is desired',
      'TERMINATING terminate',
      stopped({ desired_status: 'TERMINATED' }),
      ec2('stopped'),
    ],
    ['EC2 stopped, as requested', 'nothing', stopped({ desired_status: 'STOPPED' }), ec2('stopped')],
    [
      'EC2 unknown',
      'retry',
      stopped({ desired_status: 'STOPPED' }),
      { kind: 'unknown', because: textReason('EC2 did not answer'), sinceMs: null },
    ],
  ])('%s: %s', (_, path, worker, observed) => {
    expect(pathOf(worker, observed)).toBe(path)
  })

  it('EC2 running, as requested: RUNNING at once, and AVAILABLE once its CML is ready', () => {
    const { action } = decide(stopped(), ec2('running'))
    expect(action).toMatchObject({ changes: { status: 'RUNNING', service_status: 'STARTING' } })
  })
})

describe('a CML that stopped answering', () => {
  const silent = { stage: 'TLS', ready_streak: 0, version: null, certificate_sha256: null, detail: 'refused' } as const
  const silentFor = (ms: number, cml: NonNullable<Observation['cml']> = silent) => {
    const conditions = withBoot([], bootReached(silent.stage), SOON - ms, silent.detail)
    const known = { ...onMachine().cml, ready: false, up_until: toInstant(SOON - ms) }
    return decide(onMachine({ service_status: 'UNAVAILABLE', conditions, cml: known }), ec2('running'), { cml }).action
  }

  it('is probed as often however long it lasts, and twice as often once it is ready', () => {
    for (const ms of [5_000, 80_000, 3_600_000])
      expect(silentFor(ms)).toEqual({ kind: 'wait', afterMs: WORKER_POLICY.probeIntervalMs })
    const ready = { ...silent, stage: 'READY', ready_streak: 1 } as const
    expect(silentFor(80_000, ready)).toMatchObject({ kind: 'write', afterMs: WORKER_POLICY.probeIntervalMs / 2 })
    const answers = { ...silent, stage: 'API', detail: '' } as const
    expect(silentFor(3_600_000, answers)).toMatchObject({ kind: 'write', afterMs: WORKER_POLICY.probeIntervalMs })
  })
})
