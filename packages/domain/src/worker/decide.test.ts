import { aLicenseObservation, anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, anInstance, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason, textReason } from '../reason.ts'
import { withBoot } from './boot-stages.ts'
import { decideWorker, needsAttention } from './decide.ts'
import { type Decision, requeueAfterMs } from './decision/decision.ts'
import { EC2_STATES } from './ec2-instance.ts'
import { canMove } from './lifecycle.ts'
import { type CmlObservation, type Ec2Observation, type LicenseObservation, WORKER_POLICY } from './observation.ts'
import { DesiredStatus, WORKER_STATUSES, Worker, WorkerChanges, withChanges } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'

const ENTERED = aWorker().entered_status_at
const soon = toMs(ENTERED) + 10_000
const minutesLater = (minutes: number) => toMs(ENTERED) + minutes * 60_000

const ec2 = (state: string): Ec2Observation =>
  anEc2Observation({ state, ...(state === 'running' ? {} : { public_ip: null }) })
const UNKNOWN: Ec2Observation = { kind: 'unknown', because: textReason('EC2 did not answer'), sinceMs: null }
const ABSENT: Ec2Observation = { kind: 'absent', confirmed: true, because: textReason('gone') }
const MISSED: Ec2Observation = { kind: 'absent', confirmed: false, because: textReason('not seen for 5 s') }
const REGISTERED: Worker['license'] = { ...NO_LICENSE, status: 'REGISTERED', udi: 'udi-1' }
const DRAIN: Worker['drain'] = {
  requested_at: ENTERED,
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED',
  deadline: toInstant(minutesLater(30)),
}
const GIVEN_UP: Worker['conditions'] = [
  {
    type: 'Failed',
    status: true,
    reason: reason('launch_invalid', { aws_code: 'InvalidParameter', error: 'no' }),
    since: ENTERED,
  },
  { type: 'InstanceStopped', status: false, reason: reason('stopping_after_failure'), since: ENTERED },
]
const NO_ANSWER: LicenseObservation = { kind: 'unknown', because: textReason('CML did not answer') }
const cmlAt = (stage: CmlObservation['stage'], ready_streak = 0): CmlObservation => ({
  stage,
  ready_streak,
  version: stage === 'API' || stage === 'READY' ? '2.9.1' : null,
  certificate_sha256: stage === 'NOTHING' || stage === 'TCP' ? null : 'ab'.repeat(32),
  detail: '',
})
const decide = (worker: Worker, ec2: Ec2Observation, cml: CmlObservation | null = null, nowMs = soon): Decision =>
  decideWorker(worker, anObservation({ ec2, cml }), WORKER_POLICY, nowMs)
const movesTo = (decision: Decision) => (decision.action.kind === 'write' ? decision.action.changes.status : undefined)

describe('for every status, desired status and observation', () => {
  const ec2States: readonly Ec2Observation[] = [...[...EC2_STATES, 'rebooting'].map(ec2), UNKNOWN, ABSENT, MISSED]
  const cmls = [null, cmlAt('NOTHING'), cmlAt('API'), cmlAt('READY', 1), cmlAt('READY', 3)]
  const times = [soon, minutesLater(60)]
  const unlicensed = aLicenseObservation({ registration: 'NOT_REGISTERED', authorization: 'INIT' })
  const licenses = [null, unlicensed, aLicenseObservation(), NO_ANSWER]
  const workers = WORKER_STATUSES.flatMap(status =>
    DesiredStatus.options.flatMap(desired_status => [
      onMachine({ status, desired_status }),
      onMachine({ status, desired_status, service_status: 'STARTING' }),
      onMachine({ status, desired_status, license: REGISTERED }),
      onMachine({
        status,
        desired_status,
        license: { ...REGISTERED, pending_operation: 'deregister', operation_started_at: ENTERED },
      }),
      onMachine({ status, desired_status, license: { ...REGISTERED, unsettled: 'deregister' } }),
      onMachine({ status, desired_status, license: { ...NO_LICENSE, status: 'FAILED', unsettled: 'register' } }),
      onMachine({
        status,
        desired_status,
        license: {
          ...REGISTERED,
          pending_operation: 'deregister',
          operation_started_at: ENTERED,
          unsettled: 'deregister',
        },
      }),
      onMachine({
        status,
        desired_status,
        license: { ...NO_LICENSE, pending_operation: 'register', operation_started_at: ENTERED },
      }),
      onMachine({ status, desired_status, drain: DRAIN }),
      onMachine({ status, desired_status, conditions: GIVEN_UP }),
      onMachine({ status, desired_status, origin: 'SCALE_UP', refresh_requested_at: ENTERED }),
      aWorker({ status, desired_status }),
      aWorker({ status, desired_status, launch: anAttempt({ state: 'open' }) }),
      aWorker({ status, desired_status, launch: anAttempt({ state: 'spent' }) }),
    ]),
  )
  const cases = workers.flatMap(worker =>
    ec2States.flatMap(ec2 =>
      cmls.flatMap(cml => licenses.flatMap(license => times.map(nowMs => ({ worker, ec2, cml, license, nowMs })))),
    ),
  )
  const decided = cases.map(each => {
    const { cml, license } = each
    const observed = anObservation({ ec2: each.ec2, cml, license, isSurveyDue: true })
    return { ...each, decision: decideWorker(each.worker, observed, WORKER_POLICY, each.nowMs) }
  })

  it('returns a decision with a reason', () => {
    expect(decided.length).toBeGreaterThan(5_000)
    expect(decided.filter(({ decision }) => decision.because.message.length <= 3)).toEqual([])
  })

  it('makes only allowed transitions, and writes only fields of a controller', () => {
    // Equal writes of a worker are checked once.
    const written = new Map(
      decided.flatMap(({ worker, decision: { action, because } }) =>
        action.kind === 'write'
          ? [
              [
                `${workers.indexOf(worker)} ${JSON.stringify(action.changes)}`,
                { worker, changes: action.changes, because },
              ],
            ]
          : [],
      ),
    )
    for (const { worker, changes, because } of written.values()) {
      WorkerChanges.parse(changes)
      Worker.parse(withChanges(worker, changes))
      if (changes.status === undefined || changes.status === worker.status) continue
      expect(canMove(worker.status, changes.status), `${worker.status} -> ${changes.status}: ${because.code}`).toBe(
        true,
      )
    }
  })

  it('changes the cloud only in a status that announced it', () => {
    const announced: Readonly<Record<string, readonly string[]>> = {
      launch: ['PENDING'],
      start: ['STARTING', 'TERMINATING'],
      stop: ['STOPPING', 'FAILED'],
      terminate: ['TERMINATING'],
      register_license: ['RUNNING'],
      deregister_license: ['RUNNING', 'STOPPING', 'TERMINATING'],
    }
    const isAnnounced = ({ worker, decision: { action } }: (typeof decided)[number]) =>
      announced[action.kind]?.includes(worker.status) ?? true
    expect(decided.filter(each => !isAnnounced(each))).toEqual([])
    const stops = decided.filter(
      ({ worker, decision }) => worker.status === 'FAILED' && decision.action.kind === 'stop',
    )
    const isGivenUp = ({ conditions }: Worker) => conditions.some(({ type }) => type === 'InstanceStopped')
    expect(stops.filter(({ worker }) => !isGivenUp(worker))).toEqual([])
    const returns = decided.filter(({ decision }) => decision.action.kind === 'deregister_license')
    expect(returns.filter(({ worker }) => worker.license.unsettled !== 'deregister')).toEqual([])
    const kinds = new Set(decided.map(({ decision }) => decision.action.kind))
    for (const kind of Object.keys(announced)) if (kind !== 'launch') expect([...kinds]).toContain(kind)
  })

  it('destroys, stops and marks nothing while the cloud is unknown', () => {
    const blind = decided.filter(
      ({ worker, ec2 }) =>
        ec2.kind === 'unknown' &&
        worker.status !== 'TERMINATED' &&
        !(worker.status === 'PENDING' && worker.launch?.state !== 'open'),
    )
    expect(blind.length).toBeGreaterThan(100)
    expect(blind.filter(({ decision }) => decision.action.kind !== 'retry')).toEqual([])
  })

  it('terminates only on request, and launches only on request', () => {
    const workersOf = (kind: string) =>
      decided.flatMap(({ worker, decision }) => (decision.action.kind === kind ? [worker] : []))
    const terminated = workersOf('terminate')
    expect(terminated.length).toBeGreaterThan(0)
    expect(terminated.filter(({ desired_status }) => desired_status !== 'TERMINATED')).toEqual([])
    expect(terminated.filter(({ license }) => license.status === 'REGISTERED' || license.unsettled !== null)).toEqual(
      [],
    )
    expect(workersOf('launch').filter(({ desired_status }) => desired_status !== 'RUNNING')).toEqual([])
  })

  it('acts on an absence only when it is confirmed', () => {
    const missed = decided.filter(
      ({ worker, ec2 }) => ec2 === MISSED && !(worker.status === 'PENDING' && worker.launch?.state !== 'open'),
    )
    expect(missed.length).toBeGreaterThan(100)
    expect(missed.filter(({ decision }) => movesTo(decision) === 'TERMINATED')).toEqual([])
  })
})

describe('starting up', () => {
  it('moves to STARTING when EC2 reports running, with the address', () => {
    const { action } = decide(
      onMachine({ status: 'PROVISIONING', public_ip: null, https_endpoint: null }),
      ec2('running'),
    )
    expect(action).toMatchObject({
      kind: 'write',
      afterMs: 0,
      changes: {
        status: 'STARTING',
        service_status: 'STARTING',
        public_ip: '127.64.0.1',
        https_endpoint: 'https://127.64.0.1',
      },
    })
  })

  it('prefers the endpoint tag over the address', () => {
    const instance = anInstance({ tags: { ...anInstance().tags, 'cml-endpoint': 'https://127.64.0.1:8443' } })
    const { action } = decide(onMachine({ status: 'STARTING' }), { kind: 'instance', instance })
    expect(action).toMatchObject({ changes: { https_endpoint: 'https://127.64.0.1:8443' } })
  })

  it('shows each stage of the boot once', () => {
    const worker = onMachine({ status: 'STARTING', service_status: 'STARTING', conditions: withBoot([], 1, soon) })
    const { action } = decide(worker, ec2('running'), cmlAt('GATEWAY'))
    expect(action).toMatchObject({ kind: 'write', changes: { cml: { certificate_sha256: 'ab'.repeat(32) } } })
    if (action.kind !== 'write') return
    const shown = (action.changes.conditions ?? [])
      .filter(condition => condition.status)
      .map(condition => condition.type)
    expect(shown).toEqual(['InstanceRunning', 'TcpReachable', 'TlsEstablished', 'GatewayAnswers'])
    expect(decide(withChanges(worker, action.changes), ec2('running'), cmlAt('GATEWAY')).action.kind).toBe('wait')
  })

  it('is RUNNING only after CML reported ready several times in a row', () => {
    const worker = onMachine({ status: 'STARTING', service_status: 'STARTING' })
    expect(movesTo(decide(worker, ec2('running'), cmlAt('READY', 2)))).toBeUndefined()
    const done = decide(worker, ec2('running'), cmlAt('READY', 3))
    expect(done.action).toMatchObject({ changes: { status: 'RUNNING', service_status: 'AVAILABLE' }, afterMs: null })
  })

  it('keeps the certificate that it saw first', () => {
    const worker = onMachine({
      status: 'STARTING',
      cml: { ...aWorker().cml, version: '2.9.0', certificate_sha256: 'cd'.repeat(32) },
    })
    const { action } = decide(worker, ec2('running'), cmlAt('READY', 1))
    const kept = withChanges(worker, 'changes' in action ? (action.changes ?? {}) : {})
    expect(kept.cml.certificate_sha256).toBe('cd'.repeat(32))
  })

  it('fails and keeps its instance when a boot takes too long', () => {
    const late = decide(onMachine({ status: 'STARTING' }), ec2('running'), cmlAt('TCP'), minutesLater(31))
    expect(late.action).toMatchObject({ kind: 'write', changes: { status: 'FAILED' } })
    expect(late.because).toEqual(reason('status_timeout', { status: 'STARTING', minutes: 30 }))
    expect(movesTo(decide(onMachine({ status: 'PROVISIONING' }), ec2('pending'), null, minutesLater(16)))).toBe(
      'FAILED',
    )
  })

  it('fails when its instance stops again after each start, with the state reason of EC2', () => {
    const stopped = (launched_at: string): Ec2Observation => ({
      kind: 'instance',
      instance: anInstance({ state: 'stopped', state_reason: 'Client.InternalError', launched_at }),
    })
    const decided = (launchedMs: number, nowMs: number) =>
      decide(onMachine({ status: 'STARTING' }), stopped(toInstant(launchedMs)), null, nowMs)
    expect(decided(minutesLater(29), minutesLater(30)).action.kind).toBe('start')
    const late = decided(minutesLater(30), minutesLater(31))
    expect(movesTo(late)).toBe('FAILED')
    expect(late.because).toMatchObject({
      code: 'stops_after_each_start',
      params: { status: 'STARTING', minutes: 30, state_reason: 'Client.InternalError' },
    })
    expect(decided(minutesLater(-5), minutesLater(600)).action.kind, 'EC2 had no capacity').toBe('start')
  })

  it('does not count the wait for capacity as time to boot', () => {
    const justStarted = anInstance({ launched_at: toInstant(minutesLater(59)) })
    const worker = onMachine({ status: 'STARTING', service_status: 'STARTING' })
    const decision = decide(worker, { kind: 'instance', instance: justStarted }, cmlAt('TCP'), minutesLater(60))
    expect(movesTo(decision)).not.toBe('FAILED')
  })

  it('can be retried with a stop and a start when it failed without an instance', () => {
    const failed = aWorker({ status: 'FAILED', desired_status: 'STOPPED', launch: anAttempt({ state: 'refused' }) })
    expect(movesTo(decide(failed, ABSENT))).toBe('PENDING')
    expect(decide({ ...failed, desired_status: 'RUNNING' }, ABSENT).action.kind).toBe('nothing')
  })

  it('tries another offer when an instance is terminated before it ever ran', () => {
    const dead = anInstance({ state: 'terminated', state_reason: 'Server.InsufficientInstanceCapacity' })
    const { action } = decide(onMachine({ status: 'PROVISIONING' }), { kind: 'instance', instance: dead })
    expect(action).toMatchObject({ changes: { status: 'PENDING', ec2_instance_id: null, launch: { state: 'spent' } } })
    expect(
      decide(onMachine({ status: 'PROVISIONING' }), ec2('shutting-down')).action.kind,
      'not given up on its way there',
    ).toBe('wait')
  })
})

describe('the desired status comes first', () => {
  it('stops a worker in the middle of its boot', () => {
    for (const status of ['PROVISIONING', 'STARTING'] as const) {
      expect(movesTo(decide(onMachine({ status, desired_status: 'STOPPED' }), ec2('running')))).toBe('STOPPING')
    }
  })

  it('terminates from anywhere, announcing it first', () => {
    for (const status of ['PROVISIONING', 'STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'FAILED', 'UNKNOWN'] as const) {
      const worker = onMachine({ status, desired_status: 'TERMINATED' })
      expect(movesTo(decide(worker, ec2('running'))), status).toBe('TERMINATING')
    }
    const announced = onMachine({ status: 'TERMINATING', desired_status: 'TERMINATED' })
    expect(decide(announced, ec2('stopped')).action.kind).toBe('terminate')
    expect(decide(announced, ec2('shutting-down')).action.kind).toBe('wait')
    expect(movesTo(decide(announced, ec2('terminated')))).toBe('TERMINATED')
    expect(movesTo(decide(announced, ABSENT))).toBe('TERMINATED')
  })

  it('starts again when RUNNING is requested while it stops, once it has stopped', () => {
    const changed = onMachine({ status: 'STOPPING', desired_status: 'RUNNING' })
    expect(decide(changed, ec2('running')).action.kind).toBe('stop')
    expect(decide(changed, ec2('stopped')).action).toMatchObject({ changes: { status: 'STOPPED' }, afterMs: 0 })
    expect(movesTo(decide(onMachine({ status: 'STOPPED' }), ec2('stopped')))).toBe('STARTING')
    expect(decide(onMachine({ status: 'STARTING' }), ec2('stopped')).action.kind).toBe('start')
  })
})

describe('stopping', () => {
  const stopping = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })

  it("waits for an instance that can't be stopped yet", () => {
    expect(decide(stopping, ec2('pending')).action.kind).toBe('wait')
  })

  it('forces the stop after the deadline', () => {
    expect(decide(stopping, ec2('stopping')).action.kind).toBe('wait')
    expect(decide(stopping, ec2('stopping'), null, minutesLater(21)).action).toEqual({ kind: 'stop', force: true })
  })

  it('clears the address, which the next start will change', () => {
    expect(decide(stopping, ec2('stopped')).action).toMatchObject({
      changes: { status: 'STOPPED', service_status: 'UNAVAILABLE', public_ip: null, https_endpoint: null },
      afterMs: null,
    })
  })
})

describe('changes outside LCM', () => {
  it.each([
    ['stopped', 'STOPPED'],
    ['pending', 'STARTING'],
    ['shutting-down', 'TERMINATING'],
    ['terminated', 'TERMINATED'],
    ['rebooting', 'UNKNOWN'],
  ])('takes EC2 %s of a running worker as %s', (state, status) => {
    expect(movesTo(decide(onMachine(), ec2(state)))).toBe(status)
  })

  it('never helps to stop a worker whose desired status is RUNNING', () => {
    const first = decide(onMachine(), ec2('stopping'))
    expect(first.action).toMatchObject({ kind: 'write', changes: { service_status: 'UNAVAILABLE' } })
    expect(movesTo(first)).toBeUndefined()
    expect(decide(onMachine({ service_status: 'UNAVAILABLE' }), ec2('stopping')).action.kind).toBe('wait')
    expect(movesTo(decide(onMachine({ service_status: 'UNAVAILABLE' }), ec2('stopped')))).toBe('STOPPED')
  })

  it('records a changed type of a stopped instance: EC2 allows the change only there', () => {
    const stopped = onMachine({ status: 'STOPPED', desired_status: 'STOPPED', public_ip: null, https_endpoint: null })
    const changed: Ec2Observation = {
      kind: 'instance',
      instance: anInstance({ state: 'stopped', public_ip: null, instance_type: 'm5.metal' }),
    }
    expect(decide(stopped, changed).action).toEqual({
      kind: 'write',
      changes: { instance_type: 'm5.metal' },
      afterMs: null,
    })
    expect(decide(stopped, ec2('stopped')).action.kind).toBe('nothing')
  })

  it('records a stopped worker that was found running as RUNNING, and then stops it again', () => {
    const found = decide(onMachine({ status: 'STOPPED', desired_status: 'STOPPED' }), ec2('running'))
    expect(found.action).toMatchObject({ changes: { status: 'RUNNING', service_status: 'STARTING' }, afterMs: 0 })
    expect(movesTo(decide(onMachine({ desired_status: 'STOPPED' }), ec2('running')))).toBe('STOPPING')
  })

  it('does not terminate an instance that was only seen terminating', () => {
    expect(decide(onMachine({ status: 'TERMINATING' }), ec2('running')).action.kind).toBe('wait')
  })

  it('records a new address', () => {
    const moved = anInstance({ public_ip: '127.64.0.9' })
    expect(decide(onMachine(), { kind: 'instance', instance: moved }).action).toMatchObject({
      changes: { public_ip: '127.64.0.9', https_endpoint: 'https://127.64.0.9' },
    })
  })

  it('leaves UNKNOWN for the state that EC2 reports', () => {
    expect(movesTo(decide(onMachine({ status: 'UNKNOWN' }), ec2('stopped')))).toBe('STOPPED')
    expect(decide(onMachine({ status: 'UNKNOWN' }), ec2('rebooting')).action.kind).toBe('wait')
  })
})

describe('at rest', () => {
  it('does nothing', () => {
    expect(decide(onMachine(), ec2('running')).action.kind).toBe('nothing')
    expect(
      decide(
        onMachine({ status: 'STOPPED', desired_status: 'STOPPED', public_ip: null, https_endpoint: null }),
        ec2('stopped'),
      ).action.kind,
    ).toBe('nothing')
    expect(decide(onMachine({ status: 'TERMINATED' }), ABSENT).action.kind).toBe('nothing')
  })

  it('needs no poll when stopped, failed or terminated as requested', () => {
    expect(needsAttention(onMachine())).toBe(true)
    expect(needsAttention(onMachine({ status: 'STOPPED', desired_status: 'STOPPED' }))).toBe(false)
    expect(needsAttention(onMachine({ status: 'STOPPED' }))).toBe(true)
    expect(needsAttention(onMachine({ status: 'FAILED' }))).toBe(true)
    expect(needsAttention(onMachine({ status: 'FAILED', desired_status: 'TERMINATED' }))).toBe(true)
    expect(needsAttention(onMachine({ status: 'TERMINATED' }))).toBe(false)
    expect(needsAttention(aWorker({ desired_status: 'STOPPED' }))).toBe(false)
  })
})

it('requeues recent changes often and old ones less often', () => {
  const ages = [0, 40_000, 600_000].map(ageMs =>
    requeueAfterMs(aWorker({ entered_status_at: toInstant(0) }), WORKER_POLICY, ageMs),
  )
  expect(ages).toEqual([5_000, 10_000, 30_000])
})
