import { anAttempt, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { LabletSession, Pipeline } from '../session/lablet-session.ts'
import { PIPELINE_STEPS } from '../session/pipeline.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import { measuredBoot, measuredLabStart, measuredTeardown } from './measured-duration.ts'

const MINUTE_MS = 60_000
const START = '2026-01-02T09:00:00.000Z'
const START_MS = toMs(START)
const at = (minutes: number) => toInstant(START_MS + minutes * MINUTE_MS)
const NOW = at(9)

const requested = reason('requested_by', { by: 'ann', status: 'RUNNING', reason: '' })
const startedFrom = (from: Worker['status'], because = requested): Worker['state_history'] => [
  { from, to: 'STARTING', at: START, because },
]
const booting = (more: Partial<Worker> = {}): Worker =>
  aWorker({
    status: 'STARTING',
    entered_status_at: START,
    state_history: startedFrom('STOPPED'),
    billing: { since: START, cause: 'boot', closed_usd: 0 },
    ...more,
  })
const UP = { status: 'RUNNING', service_status: 'AVAILABLE' } as const
const bootOf = (before: Worker, after: Partial<Worker> = UP) => measuredBoot(before, { ...before, ...after }, NOW)

describe('a boot', () => {
  it('lasts from the start of a stopped machine until CML serves', () => {
    expect(bootOf(booting())).toEqual({ id: 'boot:metal', fromMs: START_MS, untilMs: toMs(NOW) })
  })

  it('is apart for a new machine, and lasts from the launch', () => {
    const launch = anAttempt({ requested_at: at(-2) })
    expect(bootOf(booting({ state_history: startedFrom('PROVISIONING'), launch }))).toEqual({
      id: 'first_boot:metal',
      fromMs: START_MS - 2 * MINUTE_MS,
      untilMs: toMs(NOW),
    })
  })

  it.each<[string, Partial<Worker>, Partial<Worker>?]>([
    ['goes on', {}, { status: 'STARTING' }],
    ['ends without CML', {}, { status: 'RUNNING', service_status: 'STARTING' }],
    ['fails', {}, { status: 'FAILED', service_status: 'ERROR' }],
    ['was over before', { status: 'RUNNING' }],
    ['follows a failure', { state_history: startedFrom('FAILED') }],
    ['was not started by LCM', { state_history: startedFrom('STOPPED', reason('ec2_reports', { state: 'running' })) }],
    ['EC2 refused at first', { billing: { since: at(3), cause: 'boot', closed_usd: 0 } }],
    ['EC2 refuses', { billing: { since: START, cause: 'stopped', closed_usd: 0 } }],
    [
      'ended while EC2 did not answer',
      { conditions: [{ type: CONDITION.ec2Unreachable, status: true, reason: requested, since: at(2) }] },
    ],
    ['is of a second launch', { state_history: startedFrom('PROVISIONING'), launch: anAttempt({ n: 2 }) }],
    ['is of an imported machine', { template_name: '' }],
  ])('that %s is not measured', (_, before, after) => {
    expect(bootOf(booting(before), after)).toBeNull()
  })
})

type Changes = Partial<Pipeline['steps'][string]>
/** A pipeline whose steps take a minute each. */
const done = (name: Pipeline['name'], changed: Record<string, Changes> = {}, attempt = 1): Pipeline => ({
  name,
  attempt,
  steps: Object.fromEntries(
    PIPELINE_STEPS[name].map(({ name: step }, n) => {
      const times = { started_at: at(n), ended_at: at(n + 1) }
      return [step, { status: 'completed', attempts: 1, output: {}, error: null, ...times, ...changed[step] }]
    }),
  ),
})
const starting = (pipeline: Pipeline | null, more: Partial<LabletSession> = {}) =>
  aSession({ status: 'INSTANTIATING', entered_status_at: START, pipeline, ...more })
const startOf = (session: LabletSession, status: LabletSession['status'] = 'READY') =>
  measuredLabStart(session, { status }, NOW)

describe('the start of a lab', () => {
  it('lasts from INSTANTIATING to READY', () => {
    const measured = { id: 'lab:two-routers', fromMs: START_MS, untilMs: toMs(NOW) }
    expect(startOf(starting(done('instantiate')))).toEqual(measured)
  })

  it.each<[string, LabletSession, LabletSession['status']?]>([
    ['goes on', starting(done('instantiate')), 'INSTANTIATING'],
    ['was over before', starting(done('instantiate'), { status: 'RUNNING' })],
    ['has no steps', starting(null)],
    ['was tried again', starting(done('instantiate', {}, 2))],
    ['had to repeat a step', starting(done('instantiate', { bind: { attempts: 2 } }))],
    ['waited for its worker first', starting(done('instantiate', { lab_resolve: { started_at: at(0.6) } }))],
    ['was started over', starting(done('instantiate', { lab_start: { started_at: at(5.6) } }))],
  ])('that %s is not measured', (_, session, status) => {
    expect(startOf(session, status)).toBeNull()
  })
})

const ended = (from: LabletSession['status'], pipeline: Pipeline | null) =>
  aSession({
    status: 'STOPPING',
    pipeline,
    state_history: [{ from, to: 'STOPPING', at: START, because: reason('timeslot_over') }],
  })
const releasing = { release: { ended_at: null }, archive: { started_at: null, ended_at: null, attempts: 0 } }

describe('the removal of a lab', () => {
  it('lasts from the end of its session until its capacity is released', () => {
    expect(measuredTeardown(ended('RUNNING', done('teardown', releasing)), NOW)).toEqual({
      id: 'teardown',
      fromMs: START_MS,
      untilMs: toMs(NOW),
    })
  })

  it.each<[string, LabletSession]>([
    ['has not begun', aSession({ state_history: [] })],
    ['is of a lab that was not up', ended('INSTANTIATING', done('teardown', releasing))],
    ['is not the step at hand', ended('RUNNING', null)],
    ['had to be repeated', ended('READY', done('teardown', { ...releasing, stop: { attempts: 2 } }))],
  ])('that %s is not measured', (_, session) => {
    expect(measuredTeardown(session, NOW)).toBeNull()
  })
})
