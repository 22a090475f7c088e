import { aLicenseObservation, anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, anInstance, aTemplate, aWorker, someLaunchParameters } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import { decideWorker } from './decide.ts'
import { judgeLaunch, judgeStart } from './decision/launch.ts'
import { tagDrift } from './decision/ownership.ts'
import { type Observation, WORKER_POLICY } from './observation.ts'
import type { Worker } from './worker.ts'
import { NO_LICENSE } from './worker-field-schemas.ts'

const NOW = toMs(aWorker().entered_status_at) + 60_000
const AWS_TEXT = 'We currently do not have sufficient m5zn.metal capacity in the Availability Zone you requested.'
const decide = (worker: Worker, more: Partial<Observation> = {}) =>
  decideWorker(worker, anObservation(more), WORKER_POLICY, NOW)

describe('a launch without capacity', () => {
  const refused = anAttempt({ state: 'refused', error: `RunInstances: InsufficientInstanceCapacity: ${AWS_TEXT}` })
  const template = aTemplate({ instance_types: ['m5zn.metal', 'm5.metal'] })
  const region = { security_group_ids: [], subnets: ['subnet-a', 'subnet-b'], key_name: null, default_tags: {} }
  const image = { image_id: 'ami-1', root_device: '/dev/sda1' }
  const nowhere = new Map(
    ['m5zn.metal', 'm5.metal'].flatMap(type =>
      ['subnet-a', 'subnet-b'].map(subnet => [`${type}/${subnet}`, NOW + 9_000]),
    ),
  )
  const inputs = { template, region, image, problem: null }
  const pending = aWorker({ status: 'PENDING', launch: refused })

  it('has a reason with the offers and the retry interval, the same each time', () => {
    const full = {
      action: 'launch',
      instance_types: ['m5zn.metal', 'm5.metal'],
      locations: ['subnet-a', 'subnet-b'],
      aws_code: null,
      retry_minutes: 3,
    } as const
    expect(decide(pending, { launch: { ...inputs, scarce: nowhere } }).because).toEqual(reason('ec2_no_capacity', full))
    const one = {
      ...inputs,
      template: aTemplate({ instance_types: ['m5zn.metal'] }),
      region: { ...region, subnets: ['subnet-a'] },
    }
    const because = reason('ec2_no_capacity', { ...full, instance_types: ['m5zn.metal'], locations: ['subnet-a'] })
    expect(
      decide(aWorker({ status: 'PENDING', launch: { ...refused, requested_at: aWorker().entered_status_at } }), {
        launch: { ...one, scarce: new Map() },
      }),
    ).toMatchObject({
      because,
      action: {
        kind: 'write',
        changes: { conditions: [{ type: 'LaunchBlocked', reason: because }] },
        afterMs: 120_000,
      },
    })
  })

  it('keeps the error of AWS with the attempt, and only its code in the reason', () => {
    const outcome = {
      kind: 'refused',
      errorClass: 'capacity',
      code: 'InsufficientInstanceCapacity',
      message: AWS_TEXT,
    } as const
    const open = anAttempt({ state: 'open', parameters: someLaunchParameters() })
    const { because, action } = judgeLaunch(pending, open, outcome, { policy: WORKER_POLICY, nowMs: NOW })
    const params = { instance_types: ['m5zn.metal'], aws_code: 'InsufficientInstanceCapacity' }
    expect(because).toEqual(
      reason('ec2_no_capacity', { ...params, action: 'launch', locations: ['subnet-a'], retry_minutes: null }),
    )
    expect(action).toMatchObject({ changes: { launch: { error: AWS_TEXT } } })
    const starting = onMachine({ status: 'STARTING' })
    expect(judgeStart(starting, outcome, { policy: WORKER_POLICY, nowMs: NOW }).because).toEqual(
      reason('ec2_no_capacity', { ...params, action: 'start', locations: ['us-east-1a'], retry_minutes: 3 }),
    )
  })
})

it('cuts the long error of a launch that AWS denies', () => {
  const message = `RunInstances: UnauthorizedOperation: ${'x'.repeat(1_000)}`
  const outcome = { kind: 'refused', errorClass: 'auth', code: 'UnauthorizedOperation', message } as const
  const open = anAttempt({ state: 'open' })
  const { because } = judgeLaunch(aWorker(), open, outcome, { policy: WORKER_POLICY, nowMs: NOW })
  expect(because).toMatchObject({
    code: 'aws_denies',
    params: { action: 'launch', aws_code: 'UnauthorizedOperation', error: message.slice(0, 300) },
  })
})

describe('a boot', () => {
  const probe = { ready_streak: 0, version: null, certificate_sha256: null }
  const starting = onMachine({ status: 'STARTING', service_status: 'STARTING' })

  it('has a reason with its stage, what it waits for and the error of the probe', () => {
    const refused = { ...probe, stage: 'NOTHING', detail: 'connection refused' } as const
    const because = reason('boot_progress', {
      stage: 2,
      stages: 6,
      waiting_for: 'TcpReachable',
      detail: 'connection refused',
    })
    const first = decide(starting, { cml: refused })
    expect(first.because).toEqual(because)
    const conditions = first.action.kind === 'write' ? (first.action.changes.conditions ?? []) : []
    expect(conditions.map(each => each.reason)).toEqual([
      reason('boot_stage_passed'),
      reason('boot_stage_waiting', { stage: 'TcpReachable', detail: 'connection refused' }),
      ...Array.from({ length: 4 }, () => reason('boot_stage_pending')),
    ])
    expect(decide({ ...starting, conditions, cml: { ...starting.cml, ready: false } }, { cml: refused })).toMatchObject(
      { action: { kind: 'wait' }, because },
    )
  })

  it('waits until CML has been ready several times', () => {
    const ready = { ...probe, stage: 'READY', ready_streak: 1, detail: '' } as const
    expect(decide(starting, { cml: ready }).because.code).toBe('cml_settling')
    const done = { ...ready, ready_streak: 3, version: '2.9.0' }
    expect(decide(starting, { cml: done }).because).toMatchObject({ code: 'cml_ready', params: { version: '2.9.0' } })
  })

  it('waits for an address, and records it', () => {
    const addressless = { public_ip: null, private_ip: null }
    const observed = { ec2: anEc2Observation(addressless) }
    const empty = onMachine({ status: 'STARTING', ...addressless, https_endpoint: null })
    expect(decide(empty, observed).because.code).toBe('no_address_yet')
    expect(decide(empty).because.code).toBe('address_known')
  })
})

describe('an instance that is terminated', () => {
  const terminated = (state: string, state_reason: string | null, more: Partial<Worker> = {}) =>
    decide(onMachine(more), {
      ec2: anEc2Observation({ state, state_reason }),
    }).because

  it.each([
    ['terminated', 'Client.UserInitiatedShutdown', 'terminated_outside_lcm'],
    ['shutting-down', 'Client.UserInitiatedShutdown', 'terminated_outside_lcm'],
    ['terminated', 'Client.InstanceInitiatedShutdown', 'terminated_by_shutdown'],
    ['terminated', 'Server.InternalError', 'terminated_by_aws'],
    ['terminated', null, 'terminated_unexpectedly'],
  ])('%s for %s: %s', (state, state_reason, code) => {
    expect(terminated(state, state_reason)).toMatchObject({ code, params: { instance_id: 'i-1', state } })
  })

  it('is a confirmation where that was requested', () => {
    const requested = { status: 'TERMINATING', desired_status: 'TERMINATED' } as const
    expect(terminated('terminated', 'Client.UserInitiatedShutdown', requested)).toMatchObject({
      code: 'termination_confirmed',
      params: { instance_id: 'i-1', state: 'terminated' },
    })
  })

  it('before it ever ran is a failed attempt', () => {
    const lost = { instance_id: 'i-1', state: 'terminated', state_reason: 'Server.InternalError' }
    expect(terminated('terminated', 'Server.InternalError', { status: 'PROVISIONING' })).toMatchObject({
      code: 'instance_lost_before_running',
      params: lost,
    })
    expect(terminated('shutting-down', null, { status: 'PROVISIONING' })).toMatchObject({
      code: 'instance_state',
      params: { instance_id: 'i-1', state: 'shutting-down', state_reason: null },
    })
  })
})

describe('the reason of a decision', () => {
  const STOPPED = { status: 'STOPPED', desired_status: 'STOPPED', public_ip: null, https_endpoint: null } as const
  const ec2 = (state: string) => ({
    ec2: anEc2Observation({ state, ...(state === 'running' ? {} : { public_ip: null }) }),
  })
  const GONE = { ec2: { kind: 'absent', confirmed: true, because: reason('nothing_launched') } } as const
  const READY = { stage: 'READY', ready_streak: 3, version: '2.9.0', certificate_sha256: null, detail: '' } as const
  const SILENT = { ...READY, stage: 'TCP', ready_streak: 0, detail: 'timeout' } as const
  const FOREIGN = { ec2: anEc2Observation({ tags: { ...anInstance().tags, 'lcm:fleet': 'theirs' } }) }
  const held = { ...NO_LICENSE, status: 'UNKNOWN' } as const
  const terminating = { status: 'TERMINATING', desired_status: 'TERMINATED' } as const

  it.each<[string, object, Partial<Worker>, Partial<Observation>]>([
    ['at_desired_status', { status: 'RUNNING' }, {}, {}],
    ['at_desired_status', { status: 'STOPPED' }, STOPPED, ec2('stopped')],
    ['terminated_is_final', {}, { status: 'TERMINATED' }, {}],
    [
      'requested_by',
      { by: 'admin', status: 'STOPPED', reason: 'done' },
      { desired_status: 'STOPPED', desired_reason: 'done' },
      {},
    ],
    ['requested_by', { by: 'admin', status: 'TERMINATED', reason: '' }, { desired_status: 'TERMINATED' }, {}],
    [
      'refreshed',
      { cause: reason('at_desired_status', { status: 'RUNNING' }) },
      { refresh_requested_at: aWorker().created_at },
      {},
    ],
    ['activity_check_due', {}, {}, { isSurveyDue: true }],
    ['ec2_reports', { state: 'stopped' }, {}, ec2('stopped')],
    ['not_stoppable_yet', { state: 'pending' }, { status: 'STOPPING', desired_status: 'STOPPED' }, ec2('pending')],
    ['started_outside_lcm', { state: 'running' }, STOPPED, {}],
    ['stopping_outside_lcm', {}, {}, ec2('stopping')],
    ['ec2_facts_changed', { fields: ['instance_type'] }, { instance_type: 'c5.metal' }, {}],
    [
      'status_without_instance',
      { status: 'RUNNING', cause: reason('nothing_launched') },
      { ec2_instance_id: null },
      GONE,
    ],
    ['stop_resets_failure', {}, { status: 'FAILED', desired_status: 'STOPPED', ec2_instance_id: null }, GONE],
    ['termination_not_requested', {}, { status: 'TERMINATING' }, {}],
    ['cml_silent', { detail: 'timeout' }, {}, { cml: SILENT }],
    ['cml_ready', { version: '2.9.0' }, { service_status: 'STARTING' }, { cml: READY }],
    ['node_definitions_changed', { count: 1, cause: null }, {}, { nodeDefinitions: ['iosv'] }],
    [
      'node_definitions_changed',
      { count: 2, cause: reason('cml_license_state', { registration: 'COMPLETED', authorization: 'IN_COMPLIANCE' }) },
      {},
      { nodeDefinitions: ['iosv', 'nxos'], license: aLicenseObservation() },
    ],
    ['owned_by_other_fleet', { instance_id: 'i-1' }, {}, FOREIGN],
    [
      'cml_first_answer',
      {},
      { ...terminating, license: held },
      {
        license: { kind: 'unknown', because: reason('no_address_yet') },
        cml: { ...READY, certificate_sha256: 'ab'.repeat(32) },
      },
    ],
    [
      'license_return_needs_approval',
      { worker_id: 'w-1', hours: 2 },
      { ...terminating, license: held, launch: null },
      { license: aLicenseObservation() },
    ],
    [
      'cml_license_state',
      { registration: 'COMPLETED', authorization: null },
      terminating,
      { license: aLicenseObservation() },
    ],
  ])('%s %j', (code, params, worker, observed) => {
    expect(decide(onMachine(worker), observed).because).toEqual({ code, params, message: expect.any(String) })
  })

  it('of a stop that takes too long is that it is forced', () => {
    const stopping = onMachine({ status: 'STOPPING', desired_status: 'STOPPED' })
    const lateMs = toMs(stopping.entered_status_at) + WORKER_POLICY.stoppingMsMax + 1
    const { because } = decideWorker(stopping, anObservation(ec2('stopping')), WORKER_POLICY, lateMs)
    expect(because.code).toBe('stop_overdue')
  })

  it('of tags of another fleet while it is terminated names that fleet', () => {
    const instance = anInstance({ tags: { 'lcm:fleet': 'theirs' } })
    expect(tagDrift(onMachine(), instance, WORKER_POLICY)).toMatchObject({
      code: 'fleet_tag_foreign',
      params: { fleet: 'theirs' },
    })
  })
})
