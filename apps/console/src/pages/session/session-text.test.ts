import { degraded } from '@lcm/domain/health'
import { reason, textReason } from '@lcm/domain/reason'
import type { Step } from '@lcm/domain/session/lablet-session'
import { begun, concluded, newPipeline, PIPELINE_STEPS } from '@lcm/domain/session/pipeline'
import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import {
  activityText,
  activityTextFor,
  countsText,
  inOrder,
  isCanceled,
  notesOf,
  ownerText,
  shortened,
  slotNote,
  stepMs,
} from './session-text.ts'

const START = '2026-01-02T03:04:05.000Z'
const NOW_MS = Date.parse('2026-01-02T03:34:05.000Z')
const [first] = PIPELINE_STEPS.instantiate
if (first === undefined) throw new Error('there are no steps')
const running = begun(newPipeline('instantiate', 2), first, START)

it('counts sessions that have not finished by what they do, and the counts add up', () => {
  const sessions = (
    ['PENDING', 'SCHEDULED', 'READY', 'RUNNING', 'RUNNING', 'STOPPING', 'EXPIRED', 'ARCHIVED'] as const
  ).map(status => aSession({ status }))
  expect(countsText(sessions, true)).toBe('7 sessions: 1 waiting, 1 scheduled, 1 ready, 2 running, 2 ending')
  expect(countsText([aSession({ status: 'ARCHIVED' })], false)).toBe('0 sessions of yours')
})

it("shows the scheduler's waiting reason", () => {
  expect(activityText(aSession({ waiting_reason: textReason('waits for metal-1 to boot') }))).toBe(
    'waits for metal-1 to boot',
  )
  expect(activityText(aSession())).toBe('waiting for a worker')
  const at_risk = reason('capacity_lost', { since: START, cause: textReason('no template is enabled') })
  expect(activityText(aSession({ admission: { ...aSession().admission, kind: 'admitted', at_risk } }))).toBe(
    'At risk: the capacity that it was promised is gone: no template is enabled',
  )
})

it('shows progress and attempt of the pipeline', () => {
  const session = aSession({ status: 'INSTANTIATING', pipeline: running })
  expect(activityText(session)).toBe('1/7 Find or import the lab, attempt 2')
  const failed = concluded(running, first, { kind: 'failed', error: 'CML answered 500', definite: true }, START)
  expect(activityText({ ...session, pipeline: failed })).toBe('1/7 Find or import the lab, attempt 2, CML answered 500')
})

it('shows why its owner cannot use it, before all else', () => {
  const because = reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' })
  const health = degraded(because, START)
  for (const status of ['READY', 'RUNNING'] as const)
    expect(activityText(aSession({ status, health }))).toBe(because.message)
  const pipeline = newPipeline('instantiate', 2)
  expect(activityText(aSession({ status: 'RUNNING', health, pipeline }))).toBe(
    `${because.message} · 1/7 Find or import the lab, attempt 2`,
  )
  expect(activityText(aSession({ status: 'RUNNING' }))).toBe('lab in use')
})

it('shows learners what they can do', () => {
  const health = degraded(reason('lab_stopped_on_cml', { state: 'STOPPED' }), START)
  const stopped = aSession({ status: 'RUNNING', health })
  const textFor = (role: 'user' | 'operator', session = stopped) =>
    activityTextFor({ id: 'bob', name: 'bob', role }, session, NOW_MS)
  expect(textFor('user')).toBe('Your lab is stopped. To start it again, choose Retry.')
  expect(textFor('user', aSession({ status: 'RUNNING' }))).toBe('lab in use')
  expect(textFor('operator')).toBe(activityText(stopped))
})

it('shows why a session ended', () => {
  expect(activityText(aSession({ status: 'TERMINATED', last_error: 'no image' }))).toBe('no image')
  const history = [{ from: null, to: 'TERMINATED' as const, at: START, because: textReason('ann canceled it') }]
  expect(activityText(aSession({ status: 'TERMINATED', state_history: history }))).toBe('ann canceled it')
})

it('shows the next event of the slot', () => {
  expect(slotNote(aSession(), NOW_MS)).toBe('ends in 30m 00s')
  expect(slotNote(aSession(), NOW_MS - 3_600_000)).toBe('starts in 30m 00s')
  expect(slotNote(aSession(), NOW_MS + 3_600_000)).toBe('ended 30m 00s ago')
  expect(slotNote(aSession({ status: 'ARCHIVED' }), NOW_MS)).toBe('ended 30m 00s ago')
})

it('names the owner where a name is known', () => {
  const me = { id: 'token:1', name: 'ann', role: 'user' } as const
  expect(ownerText(aSession({ owner: 'token:1' }), me)).toBe('you')
  expect(ownerText(aSession({ owner: 'token:2', owner_name: 'bob' }), me)).toBe('bob')
  expect(ownerText(aSession({ owner: 'token:2', owner_name: '' }), me)).toBe('token:2')
  const canceled = aSession({ desired_status: 'TERMINATED', desired_by: 'admin' })
  expect([isCanceled(canceled), isCanceled({ ...canceled, status: 'TERMINATED' })]).toEqual([true, false])
})

it('measures a step while it runs and after', () => {
  const step: Step = { status: 'running', attempts: 2, started_at: START, ended_at: null, output: {}, error: null }
  expect(stepMs(step, NOW_MS)).toBe(1_800_000)
  expect(stepMs({ ...step, status: 'completed', ended_at: START }, NOW_MS)).toBe(0)
  expect(stepMs({ ...step, status: 'pending' }, NOW_MS)).toBe(null)
  expect(notesOf({ ...step, output: { booted: 1, nodes: 3, waits_for: 'r2' } })).toEqual([
    'attempt 2',
    '1 of 3 nodes up',
    'waiting for r2',
  ])
})

it('sorts by start, then finished sessions newest first', () => {
  const at = (id: string, day: number, status: 'RUNNING' | 'ARCHIVED') =>
    aSession({ id, status, timeslot: { start: `2026-01-0${day}T00:00:00.000Z`, end: '2026-02-01T00:00:00.000Z' } })
  const sessions = [at('a', 1, 'ARCHIVED'), at('b', 4, 'RUNNING'), at('c', 3, 'RUNNING'), at('d', 2, 'ARCHIVED')]
  expect(inOrder(sessions).map(({ id }) => id)).toEqual(['c', 'b', 'd', 'a'])
})

it('shortens a long owner in the middle, where ids are alike', () => {
  expect(shortened('ann')).toBe('ann')
  expect(shortened('token:tk-6a3pbtmyzr7rk')).toBe('token:tk-6…btmyzr7rk')
})
