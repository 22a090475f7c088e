import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import type { StateChange, Worker, WorkerStatus } from '../worker/worker.ts'
import { decideSession } from './decide-session.ts'
import { labConditions } from './lab-stop-cause.ts'
import { LAB_STOPPED, type LabletSession, type Pipeline, type Step, UNTOUCHED } from './lablet-session.ts'
import { newPipeline } from './pipeline.ts'

const START = toMs(aSession().timeslot.start)
const at = (minute: number) => toInstant(START + minute * 60_000)

const changes = (...moves: readonly [minute: number, from: WorkerStatus, to: WorkerStatus][]): StateChange[] =>
  moves.map(([minute, from, to]) => ({ from, to, at: at(minute), because: textReason('') }))
const FIRST_BOOT = changes([-60, 'PROVISIONING', 'STARTING'], [-50, 'STARTING', 'RUNNING'])
const STOPPED_AT_10 = changes([10, 'RUNNING', 'STOPPED'], [10.1, 'STOPPED', 'STARTING'], [15, 'STARTING', 'RUNNING'])
const FOUND_AT_12 = changes([10, 'RUNNING', 'STOPPED'], [12, 'STOPPED', 'RUNNING'])
const UNKNOWN_AT_11 = changes([10, 'RUNNING', 'STOPPED'], [11, 'STOPPED', 'UNKNOWN'], [15, 'UNKNOWN', 'RUNNING'])
const ON_CML = reason('lab_stopped_on_cml', { state: 'STOPPED' })
const BY_RESTART = reason('lab_stopped_by_restart', { worker: 'metal-1', restarted_at: at(5) })
const FAILED_START = reason('lab_restart_failed', { step: 'lab_start', error: 'refused' })
const stopped = (minute: number, status = true, because: Reason = ON_CML) => ({
  ...{ type: LAB_STOPPED, status, reason: because, since: at(minute) },
})

/** Its lab was started at this minute. */
function upSince(minute: number, more: Partial<Step> = {}): Pipeline {
  const completed: Step = {
    ...UNTOUCHED,
    status: 'completed',
    attempts: 1,
    started_at: at(minute),
    ended_at: at(minute),
  }
  const { name, attempt, steps } = newPipeline('instantiate', 1)
  const done = Object.keys(steps).map(step => [step, { ...completed, ...(step === 'lab_start' ? more : {}) }])
  return { name, attempt, steps: Object.fromEntries(done) }
}

interface Case {
  readonly session?: Partial<LabletSession>
  readonly worker?: Partial<Worker>
  readonly isLabStopped?: boolean
}

/** The decision at minute 16 of a session whose lab was started before its slot. */
function decide({ session, worker, isLabStopped = true }: Case) {
  const subject = aSession({ status: 'RUNNING', worker_id: 'w-1', pipeline: upSince(-5), ...session })
  const on = aServingWorker({ state_history: [...FIRST_BOOT, ...STOPPED_AT_10], ...worker })
  const facts = { worker: on, isLabGone: false, isLabStopped, bootLeadMs: 0, nowMs: START + 16 * 60_000 }
  return decideSession(subject, facts)
}

describe('a lab that is stopped after its machine was started again', () => {
  it.each<[string, Case]>([
    ['during the slot', {}],
    ['before the slot', { session: { status: 'READY', timeslot: { start: at(30), end: at(60) } } }],
    ['by a user in EC2', { worker: { state_history: [...FIRST_BOOT, ...FOUND_AT_12] } }],
    ['found by a controller that could not read EC2', { worker: { state_history: [...FIRST_BOOT, ...UNKNOWN_AT_11] } }],
    ['after a restart in which it had not started', { session: { conditions: [stopped(5, true, BY_RESTART)] } }],
    ['after a start that failed', { session: { conditions: [stopped(5, true, FAILED_START)] } }],
    ['and was seen stopped as the machine went down', { session: { conditions: [stopped(9)] } }],
    ['and ran again after an earlier stop', { session: { conditions: [stopped(5, false)] } }],
    ['and could not be started before', { session: { pipeline: upSince(-5, { status: 'failed', error: 'refused' }) } }],
    ['while it drains', { worker: { status: 'DRAINING', state_history: [...FIRST_BOOT, ...STOPPED_AT_10] } }],
  ])('is started again, %s', (_, more) => {
    const { action, because } = decide(more)
    const written = action.kind === 'write' ? action.changes : {}
    expect(because).toMatchObject({ code: 'lab_stopped_by_restart', params: { worker: 'metal-1' } })
    expect(written.pipeline).toMatchObject({ attempt: 2, steps: { tags: { status: 'completed' } } })
    for (const step of ['lab_start', 'converged', 'mark_ready'])
      expect(written.pipeline?.steps[step]).toEqual(UNTOUCHED)
    expect(written.conditions).toEqual([{ type: LAB_STOPPED, status: true, reason: because, since: at(16) }])
  })

  it.each<[string, Case]>([
    ['runs', { isLabStopped: false }],
    ['was stopped while its machine ran', { worker: { state_history: FIRST_BOOT } }],
    ['was stopped before its machine went down', { session: { conditions: [stopped(7)] } }],
    ['ran after that, and was stopped', { session: { conditions: [stopped(15.5, false)] } }],
    ['ran after that, and is known to be stopped', { session: { conditions: [stopped(15.8)] } }],
    ['was started again since', { session: { pipeline: upSince(15.5) } }],
    [
      'was started again since, by a clock that is 30 s behind',
      { session: { pipeline: upSince(11.6) }, worker: { state_history: [...FIRST_BOOT, ...FOUND_AT_12] } },
    ],
    [
      'could not be started again since',
      { session: { pipeline: upSince(15.5, { status: 'failed', error: 'refused' }) } },
    ],
    ['is on a worker that does not serve', { worker: { service_status: 'UNAVAILABLE' } }],
    ['is on a terminating worker', { worker: { status: 'TERMINATING' } }],
    ['is on a worker that was never started again', { worker: { state_history: [] } }],
    ['has no pipeline', { session: { pipeline: null } }],
  ])('is not started when it %s', (_, more) => {
    expect(decide(more).action.kind).toBe('wait')
  })

  it.each(['RUNNING', 'INSTANTIATING'] as const)('is started again while it was coming up, %s', status => {
    const pipeline = upSince(-5)
    const converged: Step = { ...UNTOUCHED, status: 'blocked', error: 'CML on metal-1 is not available' }
    const steps = { ...pipeline.steps, converged, mark_ready: UNTOUCHED }
    const { action, because } = decide({ session: { status, pipeline: { ...pipeline, steps } } })
    expect(because).toMatchObject({ code: 'lab_stopped_by_restart', params: { worker: 'metal-1' } })
    const written = action.kind === 'write' ? action.changes : {}
    expect(written.pipeline).toMatchObject({ attempt: 2, steps: { tags: { status: 'completed' } } })
    expect(written.pipeline?.steps).toMatchObject({ lab_start: UNTOUCHED, converged: UNTOUCHED })
  })

  it('is not started twice while a start is in progress', () => {
    const pipeline = upSince(15.5, { status: 'running', ended_at: null })
    expect(decide({ session: { pipeline } }).action).toMatchObject({ kind: 'step' })
  })
})

it.each<[string, Partial<Worker>, string, object]>([
  ['stops', { status: 'STOPPING' }, 'lab_down', { status: 'STOPPING', restarting: true }],
  ['starts', { status: 'STARTING' }, 'lab_down', { status: 'STARTING', restarting: true }],
  [
    'is to be stopped',
    { status: 'STOPPED', desired_status: 'STOPPED' },
    'lab_down',
    { status: 'STOPPED', restarting: false },
  ],
  ['does not answer', { status: 'RUNNING' }, 'lab_state_unknown', { status: 'RUNNING' }],
])('a session whose worker %s is not shown as in use', (_, worker, code, params) => {
  const found = decide({ worker: { service_status: 'UNAVAILABLE', entered_status_at: at(15), ...worker } })
  expect(found).toMatchObject({
    action: { kind: 'wait' },
    because: { code, params: { worker: 'metal-1', ...params } },
  })
})

describe('the condition of a lab', () => {
  const of = (more: Partial<LabletSession>, state: string, worker = aServingWorker()) =>
    labConditions(
      aSession({ pipeline: upSince(0), ...more }),
      { state, isStopped: state === 'STOPPED', worker },
      at(20),
    )
  const failed = upSince(15, { status: 'failed', error: 'no license' })

  it.each<[string, Partial<LabletSession>, string, object | null]>([
    ['is absent while it never stopped', {}, 'STARTED', null],
    ['is true when it was stopped in CML', {}, 'STOPPED', { status: true, reason: ON_CML, since: at(20) }],
    [
      'is false when it runs again',
      { conditions: [stopped(9)] },
      'STARTED',
      { status: false, reason: reason('lab_running', { state: 'STARTED' }), since: at(20) },
    ],
    ['is not repeated while it runs', { conditions: [stopped(9, false)] }, 'STARTED', null],
    [
      'has the error of a failed restart and the time of the stop',
      { conditions: [stopped(9)], pipeline: failed },
      'STOPPED',
      {
        status: true,
        reason: reason('lab_restart_failed', { step: 'lab_start', error: 'no license' }),
        since: at(9),
      },
    ],
  ])('%s', (_, more, state, expected) => {
    const conditions = of(more, state)
    if (expected === null) expect(conditions).toBeNull()
    else expect(conditions).toEqual([expect.objectContaining({ type: LAB_STOPPED, ...expected })])
  })

  it('names no user for a lab that LCM stops on a terminating worker', () => {
    expect(of({}, 'STOPPED', aServingWorker({ status: 'TERMINATING' }))).toMatchObject([
      { status: true, reason: { code: 'lab_stopped_by_termination', params: { worker: 'metal-1' } } },
    ])
  })

  it('is unchanged while the lab is started again', () => {
    const resting = upSince(15, { status: 'pending', error: 'busy' })
    expect(of({ conditions: [stopped(15, true, BY_RESTART)], pipeline: resting }, 'STOPPED')).toBeNull()
  })

  it('is written once', () => {
    for (const more of [{}, { pipeline: failed }]) {
      const conditions = of(more, 'STOPPED') ?? []
      expect(of({ ...more, conditions }, 'STOPPED')).toBeNull()
    }
  })
})
