import { anEc2Observation, anObservation, onMachine } from '@lcm/testkit/observation-builders'
import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import { costCauseOf } from './cost.ts'
import { decideWorker } from './decide.ts'
import type { Decision } from './decision/decision.ts'
import { judgeLaunch, judgeStart } from './decision/launch.ts'
import { type Ec2Observation, type LaunchInputs, type Observation, WORKER_POLICY } from './observation.ts'
import { CONDITION, type Worker } from './worker.ts'

const ENTERED = aWorker().entered_status_at
const MINUTE_MS = 60_000
const later = (minutes: number): number => toMs(ENTERED) + minutes * MINUTE_MS

const machine = (state: string): Ec2Observation => anEc2Observation({ state })
const decide = (worker: Worker, ec2: Ec2Observation, minutes = 1, more: Partial<Observation> = {}): Decision =>
  decideWorker(worker, anObservation({ ec2, ...more }), WORKER_POLICY, later(minutes))
const changesOf = ({ action }: Decision) => (action.kind === 'write' ? action.changes : {})
const NO_CAPACITY = { errorClass: 'capacity', code: 'InsufficientInstanceCapacity', message: '' }
const FULL = reason('ec2_no_capacity', {
  action: 'launch',
  instance_types: ['m5zn.metal'],
  locations: ['subnet-a'],
  aws_code: null,
  retry_minutes: 3,
})
const named = (type: string, because: Reason) => ({ type, status: true, reason: because, since: ENTERED })

describe('a launch waits for its inputs, with a new timeout each time', () => {
  const NOTHING: Ec2Observation = { kind: 'absent', confirmed: true, because: textReason('nothing was launched') }
  const gone: LaunchInputs = { template: null, region: null, image: null, scarce: new Map(), problem: null }

  it('also after an hour of waiting for capacity', () => {
    const waited = aWorker({ conditions: [named(CONDITION.blocked, FULL)] })
    const first = decide(waited, NOTHING, 60, { launch: gone })
    expect(changesOf(first)).toMatchObject({
      conditions: [{ reason: { code: 'launch_input_missing' }, since: toInstant(later(60)) }],
    })
    const reported = { ...waited, ...changesOf(first) } as Worker
    expect(changesOf(decide(reported, NOTHING, 61, { launch: gone })).status).toBeUndefined()
    const last = decide(reported, NOTHING, 70, { launch: gone })
    expect(changesOf(last).status).toBe('FAILED')
    expect(last.because).toMatchObject({
      code: 'launch_input_timeout',
      params: { cause: { code: 'template_not_found', params: { template: 'metal' } } },
    })
  })
})

describe('a state that EC2 never documented', () => {
  it.each(['UNKNOWN', 'RUNNING', 'STOPPED', 'FAILED'] as const)(
    'does not keep a %s worker from being terminated',
    status => {
      expect(changesOf(decide(onMachine({ status, desired_status: 'TERMINATED' }), machine('odd'))).status).toBe(
        'TERMINATING',
      )
    },
  )

  it('does not prevent a termination', () => {
    const ending = onMachine({ status: 'TERMINATING', desired_status: 'TERMINATED' })
    expect(decide(ending, machine('odd')).action.kind).toBe('terminate')
  })

  it('does not prevent a stop', () => {
    for (const status of ['RUNNING', 'STOPPING', 'STOPPED'] as const)
      expect(changesOf(decide(onMachine({ status, desired_status: 'STOPPED' }), machine('odd'))).status).toBe('UNKNOWN')
  })

  it('leads back to PROVISIONING when nothing ever ran', () => {
    const neverRan = onMachine({ status: 'UNKNOWN', state_history: [] })
    expect(changesOf(decide(neverRan, machine('pending'))).status).toBe('PROVISIONING')
  })
})

describe('a start without capacity', () => {
  const starting = onMachine({ status: 'STARTING' })
  const refused = judgeStart(starting, NO_CAPACITY, { policy: WORKER_POLICY, nowMs: later(1) })

  it('sets one condition and is retried slowly', () => {
    expect(changesOf(refused).conditions).toMatchObject([{ type: 'LaunchBlocked', status: true }])
    expect(refused.because).toMatchObject({
      code: 'ec2_no_capacity',
      params: {
        action: 'start',
        instance_types: ['m5zn.metal'],
        locations: ['us-east-1a'],
        aws_code: 'InsufficientInstanceCapacity',
        retry_minutes: 3,
      },
    })
    expect(changesOf(refused).conditions?.[0]?.reason).toEqual(refused.because)
    expect(refused.action).toMatchObject({ afterMs: WORKER_POLICY.capacityPauseMs })
    const reported = { ...starting, ...changesOf(refused) } as Worker
    const again = judgeStart(reported, NO_CAPACITY, { policy: WORKER_POLICY, nowMs: later(4) })
    expect(again.action).toEqual({ kind: 'wait', afterMs: WORKER_POLICY.capacityPauseMs })
    expect(decide(reported, machine('stopped')).action.kind).toBe('start')
  })

  it.each(['pending', 'running', 'stopping'])('is over when EC2 reports %s', state => {
    const reported = { ...starting, ...changesOf(refused) } as Worker
    const over = decide(reported, machine(state))
    expect(changesOf(over).conditions).toEqual([])
    expect(over.because).toMatchObject({ code: 'start_accepted', params: { state } })
  })

  it('is over when a stop is requested', () => {
    const reported = { ...starting, ...changesOf(refused), desired_status: 'STOPPED' } as Worker
    const { conditions = [] } = changesOf(decide(reported, machine('stopped')))
    expect(conditions.map(({ type }) => type)).not.toContain('LaunchBlocked')
  })
})

describe('a start that AWS refuses to this account', () => {
  it.each([
    ['quota', 'VcpuLimitExceeded', WORKER_POLICY.quotaPauseMs],
    ['auth', 'UnauthorizedOperation', WORKER_POLICY.authPauseMs],
  ] as const)('because of %s is a condition, and the worker counts as stopped', (errorClass, code, afterMs) => {
    const starting = onMachine({ status: 'STARTING' })
    const refusal = { errorClass, code, message: `StartInstances: ${code}: not now` }
    const refused = judgeStart(starting, refusal, { policy: WORKER_POLICY, nowMs: later(1) })
    expect(refused).toMatchObject({
      because: {
        code: 'aws_denies',
        params: {
          action: 'start',
          error_class: errorClass,
          aws_code: code,
          error: `StartInstances: ${code}: not now`,
        },
      },
      action: { afterMs },
    })
    const reported = { ...starting, ...changesOf(refused) } as Worker
    expect(reported.conditions).toMatchObject([
      { type: 'LaunchBlocked', status: true, reason: { code: 'aws_denies', params: { aws_code: code } } },
    ])
    expect(costCauseOf(reported)).toBe('stopped')
  })

  it.each(['launch', 'start'] as const)('is one condition for a %s, however AWS words it the next time', act => {
    const worker = onMachine({ status: 'STARTING' })
    const refused = (at: Worker, code: string, encoded: string) => {
      const refusal = { errorClass: 'auth', code, message: `no. Encoded authorization failure message: ${encoded}` }
      const when = { policy: WORKER_POLICY, nowMs: later(1) }
      return act === 'start'
        ? judgeStart(at, refusal, when)
        : judgeLaunch(at, anAttempt({ state: 'open' }), { kind: 'refused', ...refusal }, when)
    }
    const first = refused(worker, 'UnauthorizedOperation', 'aaaa')
    const reported = { ...worker, ...changesOf(first) } as Worker
    expect(refused(reported, 'UnauthorizedOperation', 'bbbb')).toEqual({
      action: { kind: 'wait', afterMs: WORKER_POLICY.authPauseMs },
      because: first.because,
      guards: [],
    })
    expect(refused(reported, 'AuthFailure', 'cccc').action.kind).toBe('write')
  })
})
