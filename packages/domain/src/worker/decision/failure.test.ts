import { anAttempt, aTemplate, aWorker } from '@lcm/testkit/builders'
import { aMachineSight, anObservation } from '@lcm/testkit/observations'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { decideWorker } from '../decide.ts'
import { type Ec2Sight, type LaunchInputs, WORKER_POLICY } from '../observation.ts'
import { STATE_HISTORY_MAX, type Worker } from '../worker.ts'

const ENTERED = aWorker().entered_status_at
const MINUTE_MS = 60_000
const because = (reason: string): Worker['conditions'] => [
  { type: 'Failed', status: true, reason, message: 'it took too long', since: ENTERED },
]
const failed = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'FAILED',
    failures: 1,
    ec2_instance_id: 'i-1',
    launch: anAttempt(),
    conditions: because('timeout'),
    ...more,
  })
const machine = (state: string): Ec2Sight => aMachineSight({ state })
const NO_MACHINE: Ec2Sight = { kind: 'absent', confirmed: true, because: 'nothing was launched' }
const decide = (worker: Worker, ec2: Ec2Sight, minutes = 1, launch: LaunchInputs | null = null) =>
  decideWorker(worker, anObservation({ ec2, launch }), WORKER_POLICY, toMs(ENTERED) + minutes * MINUTE_MS)

describe('a failure that may pass', () => {
  it.each([
    [1, 5],
    [2, 15],
    [3, 45],
  ])('is retried for the %s. time after %s minutes', (failures, minutes) => {
    const worker = failed({ failures })
    expect(decide(worker, machine('running'), minutes - 1).action).toEqual({ kind: 'wait', afterMs: MINUTE_MS })
    const retry = decide(worker, machine('running'), minutes)
    expect(retry.action).toMatchObject({ changes: { status: 'STARTING' }, afterMs: 0 })
    expect(retry.because).toBe(`retry ${failures} of 3, after: it took too long`)
    const empty = failed({ failures, ec2_instance_id: null, launch: null, conditions: because('InputMissing') })
    expect(decide(empty, NO_MACHINE, minutes).action).toMatchObject({ changes: { status: 'PENDING' } })
  })

  it('ends with its machine stopped, its disk kept and its status unchanged', () => {
    const worker = failed({ failures: 4 })
    const announced = decide(worker, machine('running'), 60)
    expect(announced.action).toMatchObject({ afterMs: 0, changes: { conditions: [{}, { type: 'InstanceStopped' }] } })
    const conditions = announced.action.kind === 'write' ? (announced.action.changes.conditions ?? []) : []
    expect(decide({ ...worker, conditions }, machine('running'), 60).action).toEqual({ kind: 'stop', force: false })
    expect(decide({ ...worker, conditions }, machine('stopping'), 60).action.kind).toBe('wait')
    const done = decide({ ...worker, conditions }, machine('stopped'), 60)
    expect(done.action).toMatchObject({ changes: { conditions: [{}, { type: 'InstanceStopped', status: true }] } })
    const stopped = {
      ...worker,
      conditions: done.action.kind === 'write' ? (done.action.changes.conditions ?? []) : [],
    }
    expect(decide(stopped, machine('stopped'), 600).action.kind).toBe('nothing')
  })

  it('costs on when it is protected, but somebody is told', () => {
    const { action } = decide(failed({ failures: 4, protected: true }), machine('running'), 60)
    expect(action).toMatchObject({ changes: { conditions: [{}, { type: 'Overdue', reason: 'FailedProtected' }] } })
  })

  it('does not end one whose history is too long to tell whether it ever ran: its disk may hold work', () => {
    const tried = { from: 'FAILED', to: 'STARTING', at: ENTERED, because: 'ann asked for a retry' } as const
    const state_history = Array.from({ length: STATE_HISTORY_MAX }, () => tried)
    const old = failed({ failures: 4, origin: 'SCALE_UP', state_history })
    expect(decide(old, machine('running'), 60).action).toMatchObject({
      changes: { conditions: [{}, { type: 'InstanceStopped' }] },
    })
  })

  it('ends a worker that was bought automatically and never ran', () => {
    const bought = failed({ failures: 4, origin: 'SCALE_UP' })
    expect(decide(bought, machine('running'), 60).action).toMatchObject({ changes: { status: 'TERMINATING' } })
    const hasRun = {
      ...bought,
      state_history: [{ from: 'STARTING', to: 'RUNNING', at: ENTERED, because: '' }],
    } as const
    expect(
      decide({ ...hasRun, state_history: [...hasRun.state_history] }, machine('running'), 60).action,
    ).toMatchObject({
      changes: { conditions: [{}, { type: 'InstanceStopped' }] },
    })
  })
})

describe('a request that was wrong', () => {
  const refused = failed({ ec2_instance_id: null, conditions: because('InvalidParameterValue') })
  const inputs = (updatedMinutes: number): LaunchInputs => ({
    template: aTemplate({ updated_at: toInstant(toMs(ENTERED) + updatedMinutes * MINUTE_MS) }),
    region: null,
    image: null,
    scarce: new Map(),
    problem: null,
  })

  it('is not repeated by itself', () => {
    expect(decide(refused, NO_MACHINE, 600, inputs(-1)).action.kind).toBe('nothing')
  })

  it('is tried again when its template has changed since', () => {
    expect(decide(refused, NO_MACHINE, 600, inputs(1)).action).toMatchObject({ changes: { status: 'PENDING' } })
  })
})

it('honors what people want of a failed worker', () => {
  expect(decide(failed({ desired_status: 'TERMINATED' }), machine('running')).action).toMatchObject({
    changes: { status: 'TERMINATING' },
  })
  expect(decide(failed({ desired_status: 'STOPPED' }), machine('running')).action).toMatchObject({
    changes: { status: 'STOPPING' },
  })
})
