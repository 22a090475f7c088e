import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { HEALTHY } from '../health.ts'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { LAB_STOPPED, type LabletSession, type SessionStatus, UNTOUCHED, WORKER_UNAVAILABLE } from './lablet-session.ts'
import { newPipeline } from './pipeline.ts'
import { movedAt, sessionHealth } from './session-health.ts'
import { unschedulable } from './unschedulable-reason.ts'

const START = aSession().timeslot.start
const MINUTE_MS = 60_000
const at = (minutes: number) => toMs(START) + minutes * MINUTE_MS
const health = (session: Partial<LabletSession>, minutes = 1) => sessionHealth(aSession(session), at(minutes))
const condition = (type: string, because: Reason, status = true) => ({ type, status, reason: because, since: START })

const UNREACHABLE = reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' })
const MACHINE_DOWN = reason('lab_down', { worker: 'metal-1', status: 'STOPPED', restarting: true })
const RESTARTED = reason('lab_stopped_by_restart', { worker: 'metal-1', restarted_at: START })
const BY_HAND = reason('lab_stopped_on_cml', { state: 'STOPPED' })
const NO_CAPACITY = reason('no_workers')

describe('the health of a session with a lab', () => {
  it.each<[string, LabletSession['conditions'], string]>([
    ['without conditions', [], 'OK'],
    ['whose CML is silent', [condition(WORKER_UNAVAILABLE, UNREACHABLE)], 'DEGRADED'],
    ['whose machine is down', [condition(WORKER_UNAVAILABLE, MACHINE_DOWN)], 'DOWN'],
    ['whose lab stopped with its machine', [condition(LAB_STOPPED, RESTARTED)], 'DOWN'],
    ['whose lab its owner stopped', [condition(LAB_STOPPED, BY_HAND)], 'DEGRADED'],
    ['whose lab runs again', [condition(LAB_STOPPED, BY_HAND, false)], 'OK'],
  ])('%s', (_, conditions, status) => {
    for (const up of ['READY', 'RUNNING'] as const) expect(health({ status: up, conditions }).status).toBe(status)
  })

  it('is DEGRADED while nodes of a lab that was started again are not up', () => {
    const { steps } = newPipeline('instantiate', 2)
    const of = (step: string, error: string | null) => {
      const status = error === null ? 'running' : 'failed'
      const done = ['lab_resolve', 'bind', 'ports_alloc', 'tags', 'lab_start'].filter(each => each !== step)
      const completed = Object.fromEntries(done.map(each => [each, { ...UNTOUCHED, status: 'completed' as const }]))
      const current = { ...UNTOUCHED, status, error, started_at: START } as const
      return health({
        status: 'RUNNING',
        pipeline: { name: 'instantiate', attempt: 2, steps: { ...steps, ...completed, [step]: current } },
      })
    }
    const params = { error: 'R1 (STARTED)' }
    expect(of('converged', params.error)).toMatchObject({
      status: 'DEGRADED',
      reason: { code: 'lab_incomplete', params },
    })
    expect(of('converged', null)).toMatchObject({ status: 'DEGRADED', reason: { code: 'lab_incomplete' } })
    expect(of('lab_start', 'no license'), 'started by a person').toEqual(HEALTHY)
  })

  it('names the machine rather than the lab, and since when', () => {
    const conditions = [condition(LAB_STOPPED, BY_HAND), condition(WORKER_UNAVAILABLE, MACHINE_DOWN)]
    expect(health({ status: 'RUNNING', conditions })).toEqual({ status: 'DOWN', reason: MACHINE_DOWN, since: START })
  })

  it('is not the concern of a session that is to end, or is over', () => {
    const conditions = [condition(WORKER_UNAVAILABLE, MACHINE_DOWN)]
    expect(health({ status: 'RUNNING', desired_status: 'TERMINATED', conditions })).toEqual(HEALTHY)
    for (const status of ['STOPPING', 'STOPPED', 'EXPIRED', 'ARCHIVED', 'TERMINATED'] as const)
      expect(health({ status, conditions })).toEqual(HEALTHY)
  })
})

describe('the health of a session without a lab', () => {
  it('is OK until it is late', () => {
    expect(health({ waiting_reason: NO_CAPACITY }, -5)).toEqual(HEALTHY)
    expect(health({ waiting_reason: NO_CAPACITY }, 1.9)).toEqual(HEALTHY)
  })

  it('is DOWN when it is not placed after its start, with the reason that it waits for', () => {
    expect(health({ waiting_reason: NO_CAPACITY }, 2)).toEqual({ status: 'DOWN', reason: NO_CAPACITY, since: START })
    expect(health({}, 2).reason?.code).toBe('waiting_for_placement')
  })

  it('counts a session that was booked within its timeslot from then on', () => {
    expect(health({ created_at: toInstant(at(10)), waiting_reason: NO_CAPACITY }, 11)).toEqual(HEALTHY)
  })

  it('is DOWN at once when no machine can ever hold it', () => {
    expect(health({ waiting_reason: unschedulable(NO_CAPACITY) }, -60).status).toBe('DOWN')
  })

  it('is DEGRADED when its lab boots for long, with the error of the step', () => {
    const pipeline = newPipeline('instantiate', 1)
    expect(health({ status: 'INSTANTIATING', pipeline }, 9)).toEqual(HEALTHY)
    expect(health({ status: 'INSTANTIATING', pipeline }, 10)).toMatchObject({
      status: 'DEGRADED',
      reason: { code: 'lab_start_late', params: { step: 'lab_resolve' } },
    })
    expect(health({ status: 'SCHEDULED' }, 10).status).toBe('DEGRADED')
  })
})

describe('a session that was moved', () => {
  const moves = (...to: SessionStatus[]): LabletSession['state_history'] =>
    to.map((status, index) => ({
      from: to[index - 1] ?? null,
      to: status,
      at: toInstant(at(index)),
      because: NO_CAPACITY,
    }))

  it('is DOWN from the move until its lab is ready again', () => {
    const state_history = moves('PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'PENDING')
    const since = toInstant(at(5))
    expect(health({ state_history, waiting_reason: NO_CAPACITY })).toEqual({
      status: 'DOWN',
      reason: NO_CAPACITY,
      since,
    })
    for (const status of ['SCHEDULED', 'INSTANTIATING'] as const)
      expect(health({ status, state_history: [...state_history, ...moves('PENDING', status).slice(1)] })).toMatchObject(
        {
          status: 'DOWN',
          reason: { code: 'session_starts_elsewhere' },
          since,
        },
      )
  })

  it('is moved only since it was last ready', () => {
    const once = moves('PENDING', 'SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING', 'PENDING', 'SCHEDULED')
    expect(movedAt({ state_history: once })).toBe(toInstant(at(5)))
    expect(movedAt({ state_history: [...once, ...moves('INSTANTIATING', 'READY').slice(1)] })).toBeNull()
    expect(movedAt({ state_history: moves('PENDING', 'SCHEDULED', 'INSTANTIATING', 'PENDING') })).toBeNull()
  })
})
