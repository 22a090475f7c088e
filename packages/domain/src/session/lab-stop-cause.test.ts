import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { decideSession } from './decide-session.ts'
import { upConditions } from './lab-stop-cause.ts'
import {
  LAB_STOPPED,
  type LabletSession,
  type Pipeline,
  type Step,
  UNTOUCHED,
  WORKER_UNAVAILABLE,
} from './lablet-session.ts'
import { newPipeline } from './pipeline.ts'

const START = toMs(aSession().timeslot.start)
const at = (minute: number) => toInstant(START + minute * 60_000)

/** The machine was last seen up at minute 10, and serves again since minute 15. */
const RESTARTED = { up_until: at(10), restarted_at: at(15) }
const JUDGED = reason('worker_serves_again', { worker: 'metal-1', restarted_at: at(15) })
const ON_CML = reason('lab_stopped_on_cml', { state: 'STOPPED' })
const BY_RESTART = reason('lab_stopped_by_restart', { worker: 'metal-1', restarted_at: at(5) })
const FAILED_START = reason('lab_restart_failed', { step: 'lab_start', error: 'refused' })
const stopped = (minute: number, status = true, because: Reason = ON_CML) => ({
  ...{ type: LAB_STOPPED, status, reason: because, since: at(minute) },
})

/** Its worker was seen to serve again after this restart. */
const served = (restarted_at: string) => ({
  ...{ type: WORKER_UNAVAILABLE, status: false, since: at(0) },
  reason: reason('worker_serves_again', { worker: 'metal-1', restarted_at }),
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

const SILENT = { type: 'CmlReady', status: false, reason: reason('boot_stage_pending'), since: at(-60) }

interface Case {
  readonly session?: Partial<LabletSession>
  readonly worker?: Partial<Worker>
  readonly isLabStopped?: boolean
}

/** The decision at minute 16 of a session whose lab was started before its slot. */
function decide({ session, worker, isLabStopped = true }: Case) {
  const subject = aSession({ status: 'RUNNING', worker_id: 'w-1', pipeline: upSince(-5), ...session })
  const on = aServingWorker({ cml: { ...aServingWorker().cml, ...RESTARTED }, ...worker })
  const facts = {
    worker: on,
    isLabGone: false,
    isLabStopped,
    notBooted: null,
    bootLeadMs: 0,
    nowMs: START + 16 * 60_000,
  }
  return decideSession(subject, facts)
}

describe('a lab that is stopped after its machine was started again', () => {
  it.each<[string, Case]>([
    ['during the slot', {}],
    ['before the slot', { session: { status: 'READY', timeslot: { start: at(30), end: at(60) } } }],
    ['and was seen stopped before the restart was found', { session: { conditions: [stopped(14)] } }],
    ['and its session saw an earlier restart', { session: { conditions: [served(at(5))] } }],
    ['after a restart in which it had not started', { session: { conditions: [stopped(5, true, BY_RESTART)] } }],
    ['after a start that failed', { session: { conditions: [stopped(5, true, FAILED_START)] } }],
    ['and was seen stopped as the machine went down', { session: { conditions: [stopped(9.5)] } }],
    ['and ran again after an earlier stop', { session: { conditions: [stopped(5, false)] } }],
    ['and could not be started before', { session: { pipeline: upSince(-5, { status: 'failed', error: 'refused' }) } }],
    ['while it drains', { worker: { status: 'DRAINING' } }],
  ])('is started again, %s', (_, more) => {
    const { action, because } = decide(more)
    const written = action.kind === 'write' ? action.changes : {}
    expect(because).toMatchObject({ code: 'lab_stopped_by_restart', params: { worker: 'metal-1' } })
    expect(written.pipeline).toMatchObject({ attempt: 2, steps: { tags: { status: 'completed' } } })
    for (const step of ['lab_start', 'converged', 'mark_ready'])
      expect(written.pipeline?.steps[step]).toEqual(UNTOUCHED)
    expect(written.conditions).toContainEqual({ type: LAB_STOPPED, status: true, reason: because, since: at(16) })
    expect(written.conditions).toContainEqual(expect.objectContaining({ status: false, reason: JUDGED }))
  })

  it.each<[string, Case]>([
    ['runs', { isLabStopped: false }],
    ['was stopped before its machine went down', { session: { conditions: [stopped(8)] } }],
    ['was seen after the restart, and was stopped since', { session: { conditions: [served(at(15))] } }],
    ['was started again since', { session: { pipeline: upSince(15.5) } }],
    [
      'was started again since, by a clock that is 30 s behind',
      { session: { pipeline: upSince(14.6), conditions: [served(at(15))] } },
    ],
    ['is on a worker that does not serve', { worker: { service_status: 'UNAVAILABLE' } }],
    ['is on a terminating worker', { worker: { status: 'TERMINATING' } }],
    ['is on a worker that was never restarted', { worker: { cml: aServingWorker().cml } }],
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
    expect(written.pipeline).toMatchObject({ attempt: 1, steps: { tags: { status: 'completed' } } })
    expect(written.pipeline?.steps).toMatchObject({ lab_start: UNTOUCHED, converged: UNTOUCHED })
  })

  it('is retried as soon after its fifth restart as after its first', () => {
    const { action } = decide({ session: { pipeline: { ...upSince(-5), attempt: 9 } } })
    expect(action).toMatchObject({ kind: 'write', changes: { pipeline: { attempt: 2 } } })
  })

  describe('whose start failed', () => {
    const failedAt = (minute: number, attempt: number) => ({
      ...upSince(minute, { status: 'failed', error: 'no license', ended_at: at(minute) }),
      attempt,
    })
    const tried = (minute: number, attempt: number, because: Reason = FAILED_START) =>
      decide({
        session: { pipeline: failedAt(minute, attempt), conditions: [stopped(15, true, because), served(at(15))] },
      })

    it.each([
      [15.5, 2, 'wait'],
      [15, 2, 'write'],
      [15, 3, 'wait'],
      [14, 3, 'write'],
      [6.5, 9, 'wait'],
      [6, 9, 'write'],
    ])('at minute %s in attempt %s, is retried later each time: %s', (minute, attempt, kind) => {
      const { action } = tried(minute, attempt)
      expect(action.kind).toBe(kind)
      const written = action.kind === 'write' ? action.changes.pipeline : null
      if (kind === 'write') expect(written).toMatchObject({ attempt: attempt + 1, steps: { lab_start: UNTOUCHED } })
    })

    it('stays stopped when its owner stopped it', () => {
      expect(tried(0, 2, ON_CML).action.kind).toBe('wait')
    })
  })

  it('is not started twice while a start is in progress', () => {
    const pipeline = upSince(15.5, { status: 'running', ended_at: null })
    expect(decide({ session: { pipeline } }).action).toMatchObject({ kind: 'step' })
  })
})

it.each<[string, Partial<Worker> | null, string, object]>([
  ['stops', { status: 'STOPPING' }, 'lab_down', { status: 'STOPPING', restarting: true }],
  ['starts', { status: 'STARTING' }, 'lab_down', { status: 'STARTING', restarting: true }],
  [
    'is to be stopped',
    { status: 'STOPPED', desired_status: 'STOPPED' },
    'lab_down',
    { status: 'STOPPED', restarting: false },
  ],
  ['failed', { status: 'FAILED' }, 'lab_down', { status: 'FAILED', restarting: false }],
  ['is TERMINATED', { status: 'TERMINATED' }, 'lab_down', { status: 'TERMINATED', restarting: false }],
  ['does not answer', { status: 'RUNNING' }, 'lab_state_unknown', { status: 'RUNNING' }],
  ['does not answer for an hour', { status: 'RUNNING', conditions: [SILENT] }, 'lab_state_unknown', {}],
  ['is UNKNOWN to EC2', { status: 'UNKNOWN' }, 'lab_state_unknown', { status: 'UNKNOWN' }],
])('a session whose worker %s goes on, and shows it', (_, worker, code, params) => {
  const given = { service_status: 'UNAVAILABLE', entered_status_at: at(-60), ...worker } as const
  const found = decide({ worker: given, isLabStopped: false })
  expect(found).toMatchObject({ action: { kind: 'wait' }, because: { code, params: { worker: 'metal-1', ...params } } })
  const seen = { state: null, isStopped: false, worker: aServingWorker(given), unavailable: found.because }
  const conditions = upConditions(aSession({ status: 'RUNNING', pipeline: upSince(0) }), seen, at(16)) ?? []
  expect(conditions).toEqual([{ type: WORKER_UNAVAILABLE, status: true, reason: found.because, since: at(16) }])
  expect(upConditions(aSession({ conditions, pipeline: upSince(0) }), seen, at(17)), 'written once').toBeNull()
  const stopping = {
    ...seen,
    unavailable: reason('lab_down', { worker: 'metal-1', status: 'STOPPING', restarting: true }),
  }
  const changed = upConditions(aSession({ conditions, pipeline: upSince(0) }), stopping, at(17))
  if (code === 'lab_state_unknown') expect(changed).toMatchObject([{ status: true, since: at(16) }])
})

describe('a session whose worker serves again', () => {
  const away = {
    ...served(at(15)),
    status: true,
    reason: reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }),
  }
  const worker = aServingWorker({ cml: { ...aServingWorker().cml, ...RESTARTED } })
  const of = (more: Partial<LabletSession>, state: string | null) =>
    upConditions(
      aSession({ pipeline: upSince(-5), ...more }),
      { state, isStopped: state === 'STOPPED', worker, unavailable: null },
      at(16),
    )
  const back = { type: WORKER_UNAVAILABLE, status: false, reason: JUDGED }

  it('shows it once CML has shown the lab', () => {
    expect(of({ conditions: [away] }, null)).toBeNull()
    expect(of({ conditions: [away] }, 'STARTED')).toEqual([{ ...back, since: at(16) }])
  })

  it('has seen a restart that its lab survived, so that a later stop is that of its owner', () => {
    const conditions = of({}, 'STARTED') ?? []
    expect(conditions).toMatchObject([back])
    expect(decide({ session: { conditions } }).action.kind).toBe('wait')
    expect(of({ conditions }, 'STARTED')).toBeNull()
  })

  it('does not record restarts from before its lab', () => {
    expect(of({ pipeline: upSince(15.5) }, 'STARTED')).toBeNull()
  })
})

describe('the condition of a lab', () => {
  const of = (more: Partial<LabletSession>, state: string, worker = aServingWorker()) =>
    upConditions(
      aSession({ pipeline: upSince(0), ...more }),
      { state, isStopped: state === 'STOPPED', worker, unavailable: null },
      at(20),
    )
  const failed = upSince(15, { status: 'failed', error: 'no license' })
  const { steps } = upSince(15)
  const incomplete = { ...upSince(15), steps: { ...steps, converged: { ...(failed.steps.lab_start ?? UNTOUCHED) } } }

  it.each([
    ['was started in part', incomplete],
    ['could not be started, and was started by a person', failed],
  ])('is that of a person who stops a lab that %s', (_, pipeline) => {
    const ran = { pipeline, conditions: [stopped(16, false, reason('lab_running', { state: 'STARTED' }))] }
    expect(of(ran, 'STOPPED')).toMatchObject([{ status: true, reason: ON_CML }])
    expect(of({ pipeline, conditions: [stopped(20)] }, 'STOPPED'), 'written once').toBeNull()
    expect(of({ pipeline, conditions: [stopped(9)] }, 'STOPPED')).toMatchObject([
      { reason: { code: 'lab_restart_failed' } },
    ])
  })

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
