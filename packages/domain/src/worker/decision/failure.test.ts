import { anEc2Observation, anObservation } from '@lcm/testkit/observation-builders'
import { anAttempt, aTemplate, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { type Reason, reason } from '../../reason.ts'
import { decideWorker } from '../decide.ts'
import { type Ec2Observation, type LaunchInputs, WORKER_POLICY } from '../observation.ts'
import { STATE_HISTORY_MAX, type Worker } from '../worker.ts'

const ENTERED = aWorker().entered_status_at
const MINUTE_MS = 60_000
const TIMEOUT = reason('status_timeout', { status: 'STARTING', minutes: 30 })
const NO_TEMPLATE = reason('launch_input_missing', { cause: reason('template_not_found', { template: 'metal' }) })
const INVALID = reason('launch_invalid', { aws_code: 'InvalidParameterValue', error: 'no' })
const because = (why: Reason): Worker['conditions'] => [{ type: 'Failed', status: true, reason: why, since: ENTERED }]
const failed = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'FAILED',
    failures: 1,
    ec2_instance_id: 'i-1',
    launch: anAttempt(),
    conditions: because(TIMEOUT),
    ...more,
  })
const machine = (state: string): Ec2Observation => anEc2Observation({ state })
const NO_MACHINE: Ec2Observation = { kind: 'absent', confirmed: true, because: reason('nothing_launched') }
const decide = (worker: Worker, ec2: Ec2Observation, minutes = 1, launch: LaunchInputs | null = null) =>
  decideWorker(worker, anObservation({ ec2, launch }), WORKER_POLICY, toMs(ENTERED) + minutes * MINUTE_MS)

describe('a temporary failure', () => {
  it.each([
    [1, 5],
    [2, 15],
    [3, 45],
  ])('is retried for the %s. time after %s minutes', (failures, minutes) => {
    const worker = failed({ failures })
    const params = { retry: failures, retries: 3, cause: TIMEOUT }
    expect(decide(worker, machine('running'), minutes - 1)).toMatchObject({
      action: { kind: 'wait', afterMs: MINUTE_MS },
      because: { code: 'retry_scheduled', params },
    })
    const retry = decide(worker, machine('running'), minutes)
    expect(retry.action).toMatchObject({ changes: { status: 'STARTING' }, afterMs: 0 })
    expect(retry.because).toMatchObject({ code: 'retry_started', params })
    const empty = failed({ failures, ec2_instance_id: null, launch: null, conditions: because(NO_TEMPLATE) })
    expect(decide(empty, NO_MACHINE, minutes)).toMatchObject({
      action: { changes: { status: 'PENDING' } },
      because: { code: 'retry_started', params: { cause: NO_TEMPLATE } },
    })
    expect(decide(empty, NO_MACHINE, minutes - 1).because.code).toBe('retry_scheduled')
  })

  it('ends with its instance stopped, its disk kept and its status unchanged', () => {
    const worker = failed({ failures: 4 })
    const announced = decide(worker, machine('running'), 60)
    const stopping = { code: 'stopping_after_failure' }
    expect(announced).toMatchObject({
      action: { afterMs: 0, changes: { conditions: [{}, { type: 'InstanceStopped', reason: stopping }] } },
      because: stopping,
    })
    const conditions = announced.action.kind === 'write' ? (announced.action.changes.conditions ?? []) : []
    expect(decide({ ...worker, conditions }, machine('running'), 60).action).toEqual({ kind: 'stop', force: false })
    expect(decide({ ...worker, conditions }, machine('stopping'), 60).action.kind).toBe('wait')
    const done = decide({ ...worker, conditions }, machine('stopped'), 60)
    const reasonOfStop = { code: 'stopped_after_failure' }
    expect(done).toMatchObject({
      action: { changes: { conditions: [{}, { type: 'InstanceStopped', status: true, reason: reasonOfStop }] } },
      because: reasonOfStop,
    })
    const stopped = {
      ...worker,
      conditions: done.action.kind === 'write' ? (done.action.changes.conditions ?? []) : [],
    }
    expect(decide(stopped, machine('stopped'), 600)).toMatchObject({
      action: { kind: 'nothing' },
      because: { code: 'failed_and_stopped' },
    })
  })

  it('keeps a protected instance running, with a condition', () => {
    const { action } = decide(failed({ failures: 4, protected: true }), machine('running'), 60)
    expect(action).toMatchObject({
      changes: {
        conditions: [{}, { type: 'Overdue', reason: { code: 'failed_but_protected', params: { instance_id: 'i-1' } } }],
      },
    })
  })

  it('does not terminate a worker whose history is too long to tell whether it ever ran: its disk may hold work', () => {
    const tried = { from: 'FAILED', to: 'STARTING', at: ENTERED, because: TIMEOUT } as const
    const state_history = Array.from({ length: STATE_HISTORY_MAX }, () => tried)
    const old = failed({ failures: 4, origin: 'SCALE_UP', state_history })
    expect(decide(old, machine('running'), 60).action).toMatchObject({
      changes: { conditions: [{}, { type: 'InstanceStopped' }] },
    })
  })

  it('terminates a worker that a scale-up created and that never ran', () => {
    const bought = failed({ failures: 4, origin: 'SCALE_UP' })
    expect(decide(bought, machine('running'), 60)).toMatchObject({
      action: { changes: { status: 'TERMINATING' } },
      because: { code: 'scale_up_never_ran' },
    })
    const hasRun = {
      ...bought,
      state_history: [{ from: 'STARTING', to: 'RUNNING', at: ENTERED, because: TIMEOUT }],
    } as const
    expect(
      decide({ ...hasRun, state_history: [...hasRun.state_history] }, machine('running'), 60).action,
    ).toMatchObject({
      changes: { conditions: [{}, { type: 'InstanceStopped' }] },
    })
  })
})

describe('an invalid request', () => {
  const refused = failed({ ec2_instance_id: null, conditions: because(INVALID) })
  const inputs = (updatedMinutes: number): LaunchInputs => ({
    template: aTemplate({ updated_at: toInstant(toMs(ENTERED) + updatedMinutes * MINUTE_MS) }),
    region: null,
    image: null,
    scarce: new Map(),
    problem: null,
  })

  it('is not retried automatically', () => {
    expect(decide(refused, NO_MACHINE, 600, inputs(-1))).toMatchObject({
      action: { kind: 'nothing' },
      because: { code: 'failed_without_instance' },
    })
  })

  it('is retried when its template has changed since', () => {
    expect(decide(refused, NO_MACHINE, 600, inputs(1))).toMatchObject({
      action: { changes: { status: 'PENDING' } },
      because: { code: 'template_changed', params: { template: 'metal' } },
    })
  })
})

it('follows the desired status of a failed worker', () => {
  expect(decide(failed({ desired_status: 'TERMINATED' }), machine('running')).action).toMatchObject({
    changes: { status: 'TERMINATING' },
  })
  expect(decide(failed({ desired_status: 'STOPPED' }), machine('running')).action).toMatchObject({
    changes: { status: 'STOPPING' },
  })
})
