import { aServingWorker, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withReservation, withTimes } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import { withBoot } from '../worker/boot-stages.ts'
import { CONDITION, ServiceStatus, WORKER_STATUSES, type Worker } from '../worker/worker.ts'
import { DUE_WORKER_LOST_MS, WORKER_LOST_MS, workerLost } from '../worker/worker-loss.ts'
import {
  canServeLabs,
  decideSession,
  INSTANTIATE_ATTEMPTS_MAX,
  type SessionAction,
  type SessionDecision,
  type SessionFacts,
} from './decide-session.ts'
import {
  canMoveSession,
  isFinal,
  type LabletSession,
  type Pipeline,
  SESSION_STATUSES,
  type SessionStatus,
  STEP_STATES,
  UNTOUCHED,
} from './lablet-session.ts'
import { begun, newPipeline, PIPELINE_STEPS } from './pipeline.ts'

const MINUTE = 60_000
const START = toMs(aSession().timeslot.start)
const END = toMs(aSession().timeslot.end)

const ID = aSession().id
const reserved = (from: number, until: number) => ({
  since: toInstant(START - 60 * MINUTE),
  from: toInstant(START + from * MINUTE),
  until: toInstant(START + until * MINUTE),
})
const empty = aServingWorker({ entered_status_at: toInstant(START - 60 * MINUTE) })
const worker = withReservation(empty, ID, aSession().needs, reserved(-20, 62))
const seeing = (more: Partial<SessionFacts> = {}): SessionFacts => ({
  worker,
  isLabGone: false,
  isLabStopped: false,
  notBooted: null,
  nowMs: START,
  ...more,
})
const withSteps = (name: Pipeline['name'], status: (typeof STEP_STATES)[number], attempt = 1): Pipeline => ({
  name,
  attempt,
  steps: Object.fromEntries(PIPELINE_STEPS[name].map(step => [step.name, { ...UNTOUCHED, status, attempts: 1 }])),
})
const UP = withSteps('instantiate', 'completed')
const on = (status: SessionStatus, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({ status, worker_id: 'w-1', ...more })
const CANCELED = { desired_status: 'TERMINATED', desired_by: 'bob', desired_reason: 'typo' } as const
const changesOf = ({ action }: SessionDecision) => (action.kind === 'write' ? action.changes : null)
const nextStatus = (decision: SessionDecision) => changesOf(decision)?.status

describe('over every status, desired status, worker, pipeline and time', () => {
  const workers: readonly (Worker | null)[] = [
    null,
    ...WORKER_STATUSES.flatMap(status =>
      ServiceStatus.options.flatMap(service_status => [
        aWorker({ status, service_status, entered_status_at: toInstant(START - 60 * MINUTE) }),
        aWorker({ status, service_status, conditions: withBoot([], 2, START - 60 * MINUTE) }),
      ]),
    ),
  ]
  const pipelines: readonly (Pipeline | null)[] = [
    null,
    ...(['instantiate', 'teardown'] as const).flatMap(name => [
      newPipeline(name, 1),
      ...STEP_STATES.map(status => withSteps(name, status)),
      withSteps(name, 'failed', INSTANTIATE_ATTEMPTS_MAX),
    ]),
  ]
  const session = fc.record({
    status: fc.constantFrom(...SESSION_STATUSES),
    desired_status: fc.constantFrom('RUNNING' as const, 'TERMINATED' as const),
    pipeline: fc.constantFrom(...pipelines),
    last_error: fc.constantFrom(null, 'it failed'),
    worker_id: fc.constantFrom(null, 'w-1'),
    lab_record_id: fc.constantFrom(null, 'lr-1'),
  })
  const facts = fc.record({
    worker: fc.constantFrom(...workers),
    isLabGone: fc.boolean(),
    isLabStopped: fc.boolean(),
    notBooted: fc.constantFrom(null, '', 'R1 (STARTED)'),
    nowMs: fc.constantFrom(START - 120 * MINUTE, START - 15 * MINUTE, START, START + MINUTE, END, END + 90 * MINUTE),
  })
  const always = (check: (session: LabletSession, facts: SessionFacts, decision: SessionDecision) => void) =>
    fc.assert(
      fc.property(session, facts, (more, seen) => {
        const booked = aSession(more)
        check(booked, seen, decideSession(booked, seen))
      }),
      { numRuns: 3000 },
    )

  it('gives a reason', () => {
    always((_, __, { because }) => expect(because.message).not.toBe(''))
  })

  it('makes only transitions of the lifecycle', () => {
    always((booked, _, decision) => {
      const status = nextStatus(decision)
      if (status !== undefined)
        expect(canMoveSession(booked.status, status), `${booked.status} to ${status}`).toBe(true)
    })
  })

  it('does nothing only for sessions that are over or wait for the scheduler', () => {
    always((booked, _, { action }) => {
      const isLeft = isFinal(booked.status) || (booked.status === 'PENDING' && booked.desired_status === 'RUNNING')
      expect(action.kind === 'nothing', booked.status).toBe(isLeft)
    })
  })

  it('never writes READY before every step is complete', () => {
    always((booked, _, decision) => {
      if (nextStatus(decision) !== 'READY') return
      expect(booked.pipeline?.name).toBe('instantiate')
      for (const { status } of Object.values(booked.pipeline?.steps ?? {}))
        expect(['completed', 'skipped']).toContain(status)
    })
  })

  it('D-2: handles a cancellation before anything else, and performs no further start step', () => {
    always((booked, _, decision) => {
      if (booked.desired_status !== 'TERMINATED' || isFinal(booked.status)) return
      if (booked.status === 'STOPPING' || booked.status === 'STOPPED') return
      expect(['STOPPING', 'TERMINATED']).toContain(nextStatus(decision))
      if (nextStatus(decision) === 'STOPPING') expect(changesOf(decision)?.pipeline?.name).toBe('teardown')
    })
  })

  it('performs only steps of the pipeline of its status', () => {
    always(({ status, pipeline }, _, { action }) => {
      if (action.kind !== 'step') return
      expect(pipeline?.name).toBe(status === 'STOPPING' ? 'teardown' : 'instantiate')
    })
  })

  it('waits for a finite time', () => {
    always((_, __, { action }) => {
      if (action.kind !== 'wait') return
      expect(action.afterMs).toBeGreaterThan(0)
      expect(Number.isFinite(action.afterMs)).toBe(true)
    })
  })
})

describe('a session that is not placed', () => {
  it('waits for the scheduler, until it is canceled', () => {
    expect(decideSession(aSession(), seeing({ worker: null }))).toMatchObject({
      action: { kind: 'nothing' },
      because: { code: 'waiting_for_placement' },
    })
    expect(decideSession(aSession(CANCELED), seeing({ worker: null }))).toMatchObject({
      action: { kind: 'write', changes: { status: 'TERMINATED' } },
      because: { code: 'session_canceled', params: { by: 'bob', reason: 'typo' } },
    })
  })
})

describe('a session whose capacity is promised after that of others', () => {
  const BIG = { cpu_cores: 40, memory_gb: 64, storage_gb: 10, node_count: 4, nested_virtualization: false }
  const both = withReservation(worker, 'ls-before', BIG, reserved(-120, -20))
  const after = withReservation(both, ID, BIG, reserved(-20, 62))
  const running = withTimes(after, 'ls-before', { started_at: toInstant(START - 120 * MINUTE) })
  const scheduled = aSession({ status: 'SCHEDULED', worker_id: 'w-1' })
  const blocked = reason('waiting_for_predecessors', { worker: running.name, sessions: ['ls-before'] })

  it('starts its lab when theirs is gone, and says before which lab it waits for', () => {
    const decision = decideSession(scheduled, seeing({ worker: running, nowMs: START - 19 * MINUTE }))
    expect(decision).toEqual({ action: { kind: 'write', changes: { waiting_reason: blocked } }, because: blocked })
    const waiting = { ...scheduled, waiting_reason: blocked }
    expect(decideSession(waiting, seeing({ worker: running })).action).toMatchObject({ kind: 'wait' })
    const gone = withReservation(worker, ID, BIG, reserved(-20, 62))
    expect(decideSession(waiting, seeing({ worker: gone })).action).toMatchObject({
      kind: 'write',
      changes: { status: 'INSTANTIATING', waiting_reason: null },
    })
  })

  it('does not wait for one that never started', () => {
    expect(decideSession(scheduled, seeing({ worker: after })).action).toMatchObject({
      changes: { status: 'INSTANTIATING' },
    })
  })

  it('starts no lab without a reservation', () => {
    expect(decideSession(scheduled, seeing({ worker: empty })).because.code).toBe('capacity_not_reserved')
  })
})

it.each<[string, Partial<LabletSession>, Partial<SessionFacts>, object]>([
  ['is over', { status: 'ARCHIVED' }, {}, { code: 'status_is_final', params: { status: 'ARCHIVED' } }],
  ['is placed early', { status: 'SCHEDULED' }, { nowMs: START - 50 * MINUTE }, { code: 'lab_start_scheduled' }],
  ['is due', { status: 'SCHEDULED' }, {}, { code: 'starting_lab' }],
  ['was placed and never started', { status: 'SCHEDULED' }, { nowMs: END }, { code: 'timeslot_over_before_lab_start' }],
  ['has no pipeline', { status: 'INSTANTIATING' }, {}, { code: 'starting_lab' }],
  ['has a lab', { status: 'INSTANTIATING', pipeline: UP }, {}, { code: 'lab_ready' }],
  ['has a lab early', { status: 'READY', pipeline: UP }, { nowMs: START - 1 }, { code: 'waiting_for_timeslot' }],
  ['has a lab in time', { status: 'READY', pipeline: UP }, {}, { code: 'timeslot_started' }],
  ['is up', { status: 'RUNNING', pipeline: UP }, {}, { code: 'session_in_use' }],
  ['is at the end of its slot', { status: 'RUNNING', pipeline: UP }, { nowMs: END }, { code: 'timeslot_over' }],
  ['has lost its lab', { status: 'RUNNING', pipeline: UP }, { isLabGone: true }, { code: 'lab_removed' }],
  [
    'is at a step',
    { status: 'STOPPING', pipeline: newPipeline('teardown', 1) },
    {},
    { code: 'pipeline_step', params: { step: 'save' } },
  ],
  ['has no teardown yet', { status: 'STOPPING', pipeline: UP }, {}, { code: 'tearing_down_lab' }],
  [
    'has no lab any more',
    { status: 'STOPPING', pipeline: withSteps('teardown', 'skipped') },
    {},
    { code: 'lab_torn_down' },
  ],
  ['ended as planned', { status: 'STOPPED' }, {}, { code: 'session_completed' }],
  [
    'ended with an error',
    { status: 'STOPPED', last_error: 'x' },
    {},
    { code: 'session_failed', params: { error: 'x' } },
  ],
])('the reason for a session that %s', (_, more, seen, because) => {
  expect(decideSession(aSession({ worker_id: 'w-1', ...more }), seeing(seen)).because).toMatchObject(because)
})

it('a session that is INSTANTIATING does not wait for the end of a terminating worker', () => {
  const going = { ...worker, status: 'TERMINATING' as const }
  const decision = decideSession(on('INSTANTIATING'), seeing({ worker: going }))
  expect(changesOf(decision)).toMatchObject({ status: 'PENDING', worker_id: null })
})

describe('a session that is SCHEDULED', () => {
  const decide = (more: Partial<SessionFacts>) => decideSession(on('SCHEDULED'), seeing(more))

  it('waits exactly until its lab is to be started', () => {
    expect(decide({ nowMs: START - 50 * MINUTE }).action).toEqual({ kind: 'wait', afterMs: 30 * MINUTE })
    expect(decide({ nowMs: START - 20 * MINUTE - 1 }).action).toEqual({ kind: 'wait', afterMs: 1 })
    expect(changesOf(decide({ nowMs: START - 20 * MINUTE }))).toEqual({
      status: 'INSTANTIATING',
      waiting_reason: null,
      pipeline: newPipeline('instantiate', 1),
    })
  })

  it.each<[string, Partial<Worker>]>([
    ['does not serve yet', { service_status: 'STARTING' }],
    ['starts', { status: 'STARTING', service_status: 'UNAVAILABLE' }],
    ['is about to be terminated', { status: 'TERMINATING' }],
    ['is stopped', { status: 'STOPPED', service_status: 'UNAVAILABLE' }],
  ])('waits and does not fail when its worker %s', (_, more) => {
    expect(decide({ worker: { ...worker, ...more } }).action).toEqual({ kind: 'wait', afterMs: 5000 })
  })

  it('is started on a draining worker, which waits for it', () => {
    expect(nextStatus(decide({ worker: { ...worker, status: 'DRAINING' } }))).toBe('INSTANTIATING')
  })

  it('D-4: expires when its timeslot is over, and is then TERMINATED without a teardown', () => {
    expect(nextStatus(decide({ nowMs: END }))).toBe('EXPIRED')
    expect(changesOf(decideSession(on('EXPIRED'), seeing({ nowMs: END })))).toEqual({
      status: 'TERMINATED',
      last_error: 'the timeslot ended before the lab was started',
    })
  })

  it('is TERMINATED at once when it is canceled', () => {
    expect(nextStatus(decideSession(on('SCHEDULED', CANCELED), seeing()))).toBe('TERMINATED')
  })
})

describe('a session that is INSTANTIATING', () => {
  const decide = (more: Partial<LabletSession>, facts: Partial<SessionFacts> = {}) =>
    decideSession(on('INSTANTIATING', { pipeline: newPipeline('instantiate', 1), ...more }), seeing(facts))

  it('goes step by step, and is READY after the last', () => {
    expect(decide({}).action).toMatchObject({ kind: 'step', next: { kind: 'begin', step: { name: 'lab_resolve' } } })
    expect(changesOf(decide({ pipeline: UP, last_error: 'the first try failed' }))).toEqual({
      status: 'READY',
      last_error: null,
    })
  })

  it('begins its pipeline when it has none or another one', () => {
    for (const pipeline of [null, newPipeline('teardown', 1)])
      expect(changesOf(decide({ pipeline }))).toEqual({ pipeline: newPipeline('instantiate', 1) })
  })

  const failedAt = (attempt: number, ended_at: string | null): Pipeline => {
    const pipeline = newPipeline('instantiate', attempt)
    const tags = { ...UNTOUCHED, status: 'failed' as const, attempts: 3, ended_at, error: 'no answer' }
    const done = { ...UNTOUCHED, status: 'completed' as const }
    return { ...pipeline, steps: { ...pipeline.steps, lab_resolve: done, bind: done, ports_alloc: done, tags } }
  }

  it('is retried as a whole after a backoff that grows', () => {
    const pipeline = failedAt(2, toInstant(START))
    const waiting = decide({ pipeline })
    expect(waiting.action).toEqual({ kind: 'wait', afterMs: MINUTE })
    expect(waiting.because).toMatchObject({
      code: 'lab_start_attempt_failed',
      params: { attempt: 2, attempts_max: 3, step: 'tags', error: 'no answer' },
    })
    const retried = decide({ pipeline }, { nowMs: START + MINUTE })
    expect(changesOf(retried)).toEqual({ pipeline: newPipeline('instantiate', 3), last_error: 'tags: no answer' })
    expect(retried.because).toMatchObject({ code: 'lab_start_retry', params: { attempt: 3, cause: waiting.because } })
  })

  it('waits before it retries a step', () => {
    const pipeline = newPipeline('instantiate', 1)
    const lab_resolve = { ...UNTOUCHED, attempts: 1, ended_at: toInstant(START), error: 'no answer' }
    expect(decide({ pipeline: { ...pipeline, steps: { ...pipeline.steps, lab_resolve } } })).toMatchObject({
      action: { kind: 'wait', afterMs: 10_000 },
      because: { code: 'pipeline_step_retry', params: { step: 'lab_resolve' } },
    })
  })

  it('D-17: is torn down, not dropped, after the last attempt, and the error is kept', () => {
    const decision = decide({ pipeline: failedAt(INSTANTIATE_ATTEMPTS_MAX, toInstant(START)) })
    expect(changesOf(decision)).toEqual({
      status: 'STOPPING',
      pipeline: newPipeline('teardown', 1),
      last_error: 'tags: no answer',
    })
    expect(decision.because).toMatchObject({
      code: 'lab_start_failed',
      params: { attempts: 3, step: 'tags', error: 'no answer' },
    })
    expect(changesOf(decideSession(on('STOPPED', { last_error: 'tags: no answer' }), seeing()))).toEqual({
      status: 'TERMINATED',
    })
  })

  it('D-10: returns to the scheduler when its worker is lost and its timeslot is not over', () => {
    const lost = { ...worker, status: 'TERMINATED' as const }
    const cause = reason('worker_status', { worker: 'metal-1', status: 'TERMINATED' })
    const decision = decide({}, { worker: lost })
    expect(changesOf(decision)).toEqual({ status: 'PENDING', worker_id: null, pipeline: null, waiting_reason: cause })
    expect(decision.because).toMatchObject({ code: 'session_placed_again', params: { cause } })
    expect(nextStatus(decide({}, { worker: lost, nowMs: END }))).toBe('STOPPING')
  })

  it('returns to the scheduler after two minutes of silence', () => {
    const since = toInstant(START)
    const silent = { type: 'CmlReady', status: false, reason: reason('boot_stage_pending'), since }
    const away = { ...worker, service_status: 'UNAVAILABLE' as const, conditions: [silent] }
    expect(nextStatus(decide({}, { worker: away, nowMs: START + DUE_WORKER_LOST_MS - 1 }))).toBeUndefined()
    expect(nextStatus(decide({}, { worker: away, nowMs: START + DUE_WORKER_LOST_MS }))).toBe('PENDING')
  })

  it('waits during a short outage of its worker, and its next step has the reason', () => {
    const away = { worker: { ...worker, service_status: 'UNAVAILABLE' as const } }
    const { because, ...decision } = decide({}, away)
    expect(because).toMatchObject({ code: 'worker_not_serving', params: { worker: 'metal-1' } })
    const pipeline = changesOf({ because, ...decision })?.pipeline
    expect(pipeline?.steps.lab_resolve).toMatchObject({ status: 'blocked', error: because.message })
    expect(decide({ pipeline: pipeline ?? null }, away).action.kind).toBe('wait')
  })

  it('is torn down as failed when its timeslot ends first', () => {
    expect(changesOf(decide({}, { nowMs: END }))).toMatchObject({
      status: 'STOPPING',
      last_error: 'the timeslot ended before the lab was ready',
    })
  })
})

describe('a session that is up', () => {
  const decide = (status: 'READY' | 'RUNNING', more: Partial<SessionFacts>) =>
    decideSession(on(status, { pipeline: UP }), seeing(more))

  it('is RUNNING from the start of its slot', () => {
    expect(decide('READY', { nowMs: START - 1 }).action).toEqual({ kind: 'wait', afterMs: 1 })
    expect(changesOf(decide('READY', { nowMs: START }))).toEqual({ status: 'RUNNING' })
  })

  it('is torn down at the end of its slot, and ARCHIVED', () => {
    expect(decide('RUNNING', { nowMs: END - 1 }).action).toEqual({ kind: 'wait', afterMs: 1 })
    expect(changesOf(decide('RUNNING', { nowMs: END }))).toEqual({
      status: 'STOPPING',
      pipeline: newPipeline('teardown', 1),
    })
    expect(changesOf(decideSession(on('STOPPED'), seeing()))).toEqual({ status: 'ARCHIVED' })
  })

  it.each<[string, SessionFacts['worker']]>([
    ['is down', { ...worker, status: 'STOPPED', entered_status_at: toInstant(START) }],
    ['failed', { ...worker, status: 'FAILED', entered_status_at: toInstant(START) }],
    ['is TERMINATED', { ...worker, status: 'TERMINATED' }],
    ['has no record', null],
  ])('5.2: goes on until its slot ends when its worker %s', (_, lost) => {
    const nowMs = START + 2 * WORKER_LOST_MS
    expect(decide('RUNNING', { worker: lost, nowMs }).action).toEqual({ kind: 'wait', afterMs: END - nowMs })
    expect(nextStatus(decide('RUNNING', { worker: lost, nowMs: END }))).toBe('STOPPING')
  })

  it('is torn down when its lab was deleted, and says so', () => {
    expect(changesOf(decide('READY', { isLabGone: true }))).toMatchObject({
      status: 'STOPPING',
      last_error: 'the lab was removed from CML',
    })
  })

  it('is judged again once the nodes that were late have booted, and names those that have not', () => {
    const { converged = UNTOUCHED, ...others } = UP.steps
    const failed = { ...converged, status: 'failed' as const, error: 'after 30 min', ended_at: toInstant(START) }
    const incomplete = { ...UP, steps: { ...others, converged: failed } }
    const judged = (pipeline: Pipeline, notBooted: string | null, on_: Worker | null = worker) =>
      decideSession(on('RUNNING', { pipeline }), seeing({ notBooted, worker: on_ }))
    expect(judged(incomplete, null).action.kind).toBe('wait')
    expect(judged(UP, 'R1 (STOPPED)').action.kind, 'a node that stopped later').toBe('wait')
    expect(judged(incomplete, '', { ...worker, status: 'TERMINATING' }).action.kind).toBe('wait')
    const fewer = changesOf(judged(incomplete, 'R2 (STARTED)'))?.pipeline ?? incomplete
    expect(fewer.steps.converged).toMatchObject({ ...failed, error: 'nodes have not booted: R2 (STARTED)', output: {} })
    expect(judged(fewer, 'R2 (STARTED)').action.kind, 'known already').toBe('wait')
    const complete = judged(fewer, '')
    expect(changesOf(complete)?.pipeline?.steps.converged).toEqual(UNTOUCHED)
    expect(complete.because).toEqual(reason('lab_booted'))
  })

  it('ends as planned when its timeslot is over, whatever the state of its worker', () => {
    expect(changesOf(decide('RUNNING', { worker: null, isLabGone: true, nowMs: END }))).not.toHaveProperty('last_error')
  })
})

describe('a session that is EXPIRED', () => {
  it('is torn down when it was up, and has then ended as planned', () => {
    const changes = changesOf(decideSession(on('EXPIRED', { pipeline: UP }), seeing({ nowMs: END })))
    expect(changes).toEqual({ status: 'STOPPING', pipeline: newPipeline('teardown', 1) })
  })

  it('is torn down as failed when its lab never started', () => {
    const booked = on('EXPIRED', { pipeline: newPipeline('instantiate', 2) })
    expect(changesOf(decideSession(booked, seeing({ nowMs: END })))).toMatchObject({
      status: 'STOPPING',
      last_error: 'the timeslot ended before the lab was ready',
    })
  })
})

describe('a session that lost its worker and did not get its lab back', () => {
  const state_history = [
    { from: 'RUNNING', to: 'PENDING', at: '2026-01-02T03:20:00.000Z', because: reason('not_given') },
  ] as const
  const moved = (status: LabletSession['status'], pipeline: Pipeline | null = null) =>
    decideSession(
      on(status, { pipeline, state_history: [{ ...state_history[0], to: 'READY' }, ...state_history] }),
      seeing({ nowMs: END }),
    )
  const because = reason('timeslot_over_after_move', { at: '2026-01-02T03:20:00.000Z' })

  it('ends at the end of its timeslot with an error that says so', () => {
    expect(moved('SCHEDULED').because).toEqual(because)
    expect(changesOf(moved('EXPIRED'))).toEqual({ status: 'TERMINATED', last_error: because.message })
    for (const status of ['INSTANTIATING', 'EXPIRED'] as const)
      expect(changesOf(moved(status, newPipeline('instantiate', 1)))).toMatchObject({
        status: 'STOPPING',
        last_error: because.message,
      })
  })
})

describe('a teardown', () => {
  const decide = (pipeline: Pipeline | null, more: Partial<SessionFacts> = {}) =>
    decideSession(on('STOPPING', { pipeline }), seeing(more))

  it('replaces a start in progress', () => {
    for (const pipeline of [null, withSteps('instantiate', 'running')])
      expect(changesOf(decide(pipeline))).toEqual({ pipeline: newPipeline('teardown', 1) })
  })

  it('goes step by step, whatever the state of the worker', () => {
    for (const seen of [worker, null, { ...worker, status: 'TERMINATED' as const }])
      expect(decide(newPipeline('teardown', 1), { worker: seen }).action).toMatchObject({
        kind: 'step',
        next: { kind: 'begin', step: { name: 'save' } },
      })
    expect(changesOf(decide(withSteps('teardown', 'skipped')))).toEqual({ status: 'STOPPED' })
  })

  it('D-27: is bounded: a step that never ends fails after its last attempt', () => {
    const running = (name: string) => {
      const attempts = PIPELINE_STEPS.teardown.find(step => step.name === name)?.attemptsMax ?? 0
      return { ...UNTOUCHED, status: 'running' as const, started_at: toInstant(START), attempts }
    }
    const { steps, ...pipeline } = newPipeline('teardown', 1)
    const save = { ...UNTOUCHED, status: 'skipped' as const }
    const late = { nowMs: START + 24 * 60 * MINUTE }
    expect(decide({ ...pipeline, steps: { ...steps, save, stop: running('stop') } }, late).action).toMatchObject({
      kind: 'step',
      next: { kind: 'failed', step: { name: 'stop' } },
    })
    // The lab is stopped without a save that never ends.
    expect(decide({ ...pipeline, steps: { ...steps, save: running('save') } }, late).action).toMatchObject({
      kind: 'step',
      next: { kind: 'begin', step: { name: 'stop' } },
    })
  })
})

describe('a worker', () => {
  const since = toInstant(START)
  const silent = (minutes: number) =>
    aWorker({
      status: 'RUNNING',
      service_status: 'UNAVAILABLE',
      conditions: withBoot(withBoot([], 6, START - 60 * MINUTE), 2, START - minutes * MINUTE),
    })

  const lost = (status: string) => reason('worker_lost', { worker: 'metal-1', status, seconds: 600 })
  const noCapacity = textReason('no capacity')
  const unstarted = aWorker({
    status: 'STARTING',
    entered_status_at: toInstant(START - 60 * MINUTE),
    conditions: [{ type: CONDITION.blocked, status: true, reason: noCapacity, since }],
  })

  it.each<[string, Worker | null, number, Reason | null]>([
    ['without a record', null, 0, reason('worker_deleted')],
    [
      'TERMINATED',
      aWorker({ status: 'TERMINATED', entered_status_at: since }),
      0,
      reason('worker_status', { worker: 'metal-1', status: 'TERMINATED' }),
    ],
    ['STOPPED a moment ago', aWorker({ status: 'STOPPED', entered_status_at: since }), 9.9, null],
    ['STOPPED for long', aWorker({ status: 'STOPPED', entered_status_at: since }), 10, lost('STOPPED')],
    ['FAILED for long', aWorker({ status: 'FAILED', entered_status_at: since }), 10, lost('FAILED')],
    ['UNKNOWN for long', aWorker({ status: 'UNKNOWN', entered_status_at: since }), 11, lost('UNKNOWN')],
    ['that has been starting for long', aWorker({ status: 'STARTING', entered_status_at: since }), 60, null],
    ['that EC2 could not start for a moment', unstarted, 9, null],
    ['that EC2 could not start for long', unstarted, 10, lost('STARTING')],
    ['that serves', worker, 600, null],
    ['whose CML stopped answering a moment ago', silent(9), 0, null],
    ['whose CML stopped answering', silent(10), 0, lost('RUNNING')],
    [
      'that runs and is silent since an unknown time',
      aWorker({ status: 'RUNNING', service_status: 'ERROR' }),
      600,
      null,
    ],
    [
      'that drains and whose CML stopped answering',
      { ...silent(10), status: 'DRAINING' as const },
      0,
      lost('DRAINING'),
    ],
  ])('%s is lost, or not', (_, seen, minutes, because) => {
    expect(workerLost(seen, START + minutes * MINUTE)).toEqual(because)
  })

  it('serves labs that are on it until it is gone', () => {
    const serving = WORKER_STATUSES.filter(status => canServeLabs({ ...worker, status }))
    expect(serving).toEqual(['RUNNING', 'DRAINING', 'TERMINATING'])
    expect(canServeLabs({ ...worker, service_status: 'UNAVAILABLE' })).toBe(false)
    expect(canServeLabs(null)).toBe(false)
  })
})

it('every session ends, whatever fails, after the last attempt of every step', () => {
  const apply = (booked: LabletSession, action: SessionAction, nowMs: number): LabletSession => {
    if (action.kind === 'write') return { ...booked, ...action.changes }
    if (action.kind !== 'step') return booked
    // Every step runs forever or fails permanently.
    if (action.next.kind === 'failed') return { ...booked, status: 'STOPPED', last_error: action.next.error }
    if (action.next.kind !== 'begin' || booked.pipeline === null) return booked
    return { ...booked, pipeline: begun(booked.pipeline, action.next.step, toInstant(nowMs)) }
  }
  for (const seen of [worker, null, { ...worker, status: 'STOPPED' as const }])
    for (const status of [
      'SCHEDULED',
      'INSTANTIATING',
      'READY',
      'RUNNING',
      'EXPIRED',
      'STOPPING',
      'STOPPED',
    ] as const) {
      let booked = on(status, { pipeline: status === 'SCHEDULED' ? null : UP })
      let nowMs = START
      for (; !isFinal(booked.status) && booked.status !== 'PENDING' && nowMs < END + 180 * MINUTE; nowMs += 30_000)
        booked = apply(booked, decideSession(booked, seeing({ worker: seen, nowMs })).action, nowMs)
      expect(nowMs, `${status} came to ${booked.status}`).toBeLessThan(END + 180 * MINUTE)
    }
})
