import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { LAB_STOPPED, type LabletSession, type Pipeline, UNTOUCHED } from './lablet-session.ts'
import { begun, blocked, concluded, newPipeline, PIPELINE_STEPS } from './pipeline.ts'
import { retryOf } from './session-retry-request.ts'

const NOW = '2026-01-02T03:30:00.000Z'
const [FIRST, SECOND] = PIPELINE_STEPS.instantiate
if (FIRST === undefined || SECOND === undefined) throw new Error('a pipeline without steps')

const fresh = newPipeline('instantiate', 1)
const failed = concluded(begun(fresh, FIRST, NOW), FIRST, { kind: 'failed', error: 'no', definite: false }, NOW)
const whole: Pipeline = {
  ...fresh,
  steps: Object.fromEntries(
    Object.entries(fresh.steps).map(([name, step]) => [name, { ...step, status: 'completed', output: { of: name } }]),
  ),
}
const failedInPart: Pipeline = {
  ...whole,
  steps: { ...whole.steps, converged: { ...UNTOUCHED, status: 'failed', error: 'R1 (STARTED)', ended_at: NOW } },
}
const stopped = {
  type: LAB_STOPPED,
  status: true,
  reason: reason('lab_stopped_on_cml', { state: 'STOPPED' }),
  since: NOW,
}

const outcome = (more: Partial<LabletSession>) => {
  const retry = retryOf(aSession(more), NOW)
  return retry.kind === 'refused' ? { code: retry.because.code, params: retry.because.params } : retry.kind
}
const NOTHING = { code: 'nothing_to_retry', params: {} }
const HELD = reason('worker_not_serving', { worker: 'metal-1' })

it.each<[string, Partial<LabletSession>, string | object]>([
  ['one that waits for placement', { status: 'PENDING', waiting_reason: reason('no_workers') }, 'try'],
  ['one that waits for its slot or its worker', { status: 'SCHEDULED' }, 'try'],
  ['one whose step failed', { status: 'INSTANTIATING', pipeline: failed }, 'try'],
  ['one whose last attempt failed', { status: 'INSTANTIATING', pipeline: fresh, last_error: 'bind: no' }, 'try'],
  [
    'one that is being started',
    { status: 'INSTANTIATING', pipeline: fresh },
    { code: 'lab_start_in_progress', params: {} },
  ],
  [
    'one that is blocked',
    { status: 'INSTANTIATING', pipeline: blocked(fresh, FIRST, HELD) },
    { code: 'pipeline_step_blocked', params: { step: 'lab_resolve', error: HELD.message } },
  ],
  ['one whose lab was stopped', { status: 'RUNNING', pipeline: whole, conditions: [stopped] }, 'try'],
  ['one whose lab was stopped early', { status: 'READY', pipeline: whole, conditions: [stopped] }, 'try'],
  ['one whose lab runs without all of its nodes', { status: 'RUNNING', pipeline: failedInPart }, 'try'],
  ['one whose lab runs', { status: 'RUNNING', pipeline: whole }, NOTHING],
  [
    'one whose lab runs again',
    { status: 'RUNNING', pipeline: whole, conditions: [{ ...stopped, status: false }] },
    NOTHING,
  ],
  ['one whose lab is started again', { status: 'RUNNING', pipeline: begun(fresh, FIRST, NOW) }, 'under_way'],
  ['one that is being torn down', { status: 'STOPPING' }, { code: 'session_ending', params: { status: 'STOPPING' } }],
  ['one that ended', { status: 'ARCHIVED' }, { code: 'session_ended', params: { status: 'ARCHIVED' } }],
  [
    'one that was canceled',
    { status: 'SCHEDULED', desired_status: 'TERMINATED' },
    { code: 'session_was_canceled', params: {} },
  ],
  [
    'one whose timeslot is over',
    { timeslot: { start: NOW, end: NOW } },
    { code: 'timeslot_ended', params: { end: NOW } },
  ],
])('%s', (_, more, expected) => {
  expect(outcome(more)).toEqual(expected)
})

it('starts the whole pipeline again', () => {
  const retry = retryOf(aSession({ status: 'INSTANTIATING', pipeline: failed, last_error: 'no' }), NOW)
  expect(retry).toEqual({ kind: 'try', changes: { pipeline: newPipeline('instantiate', 2), last_error: null } })
})

it('starts a stopped lab and keeps its disks', () => {
  const retry = retryOf(aSession({ status: 'RUNNING', pipeline: whole, conditions: [stopped] }), NOW)
  const steps = retry.kind === 'try' ? retry.changes.pipeline?.steps : {}
  expect(Object.entries(steps ?? {}).map(([name, { status }]) => `${name} ${status}`)).toEqual([
    'lab_resolve completed',
    'bind completed',
    'ports_alloc completed',
    'tags completed',
    'lab_start pending',
    'converged pending',
    'mark_ready pending',
  ])
  expect(steps?.ports_alloc?.output).toEqual({ of: 'ports_alloc' })
})
