import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import { CONDITION, type Worker } from '../worker/worker.ts'
import { LAB_STOPPED, type LabletSession, SESSION_STATUSES } from './lablet-session.ts'
import { departureOf, placeAgainReason } from './place-again-reason.ts'

const NOW = toMs(aSession().created_at)
const at = (minutes: number) => toInstant(NOW + minutes * 60_000)
const drain: Worker['drain'] = {
  requested_at: at(-5),
  by: 'ann',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'TERMINATED',
  deadline: at(60),
}

const is = (status: string) => reason('worker_status', { worker: 'metal-1', status })
const desired = (desired_status: string) => reason('worker_desired_status', { worker: 'metal-1', desired_status })

it.each<[string, Partial<Worker> | null, Reason | null]>([
  ['serves', {}, null],
  ['has no record', null, reason('worker_deleted')],
  ['is TERMINATED', { status: 'TERMINATED', desired_status: 'TERMINATED' }, is('TERMINATED')],
  ['is TERMINATING', { status: 'TERMINATING', desired_status: 'TERMINATED' }, is('TERMINATING')],
  ['is TERMINATING after a drain', { status: 'TERMINATING', drain }, is('TERMINATING')],
  ['has the desired status TERMINATED', { desired_status: 'TERMINATED' }, desired('TERMINATED')],
  ['is stopped by force', { status: 'STOPPING', desired_status: 'STOPPED' }, desired('STOPPED')],
  ['is stopped outside LCM, and starts again', { status: 'STOPPING' }, null],
  ['drains, and waits for its sessions', { status: 'DRAINING', drain }, null],
  ['drains before a stop', { status: 'DRAINING', desired_status: 'STOPPED', drain }, null],
  ['has just become UNKNOWN', { status: 'UNKNOWN', entered_status_at: at(-9) }, null],
  [
    'was lost',
    { status: 'UNKNOWN', entered_status_at: at(-11) },
    reason('worker_lost', { worker: 'metal-1', status: 'UNKNOWN', seconds: 600 }),
  ],
])('a worker that %s', (_, more, because) => {
  expect(placeAgainReason(more === null ? null : aServingWorker(more), NOW)).toEqual(because)
})

type Answer = 'at once' | 'for capacity' | 'stays'
const SLOT = { start: at(-30), end: at(30) }
const EARLY = { start: at(15), end: at(75) }

function answer(session: Partial<LabletSession>, worker: Partial<Worker> | null): Answer {
  const departure = departureOf(
    aSession({ status: 'RUNNING', worker_id: 'w-1', timeslot: SLOT, ...session }),
    worker === null ? null : aServingWorker(worker),
    NOW,
  )
  if (departure === null) return 'stays'
  return departure.needsCapacity ? 'for capacity' : 'at once'
}

const condition = (type: string, minutes: number, status = true) => [
  { type, status, reason: reason('no_reason_recorded'), since: at(minutes) },
]
const silent = (minutes: number): Partial<Worker> => ({
  service_status: 'UNAVAILABLE',
  conditions: condition('CmlReady', minutes, false),
})
const dead = (status: Worker['status'], minutes: number): Partial<Worker> => ({
  status,
  service_status: 'UNAVAILABLE',
  entered_status_at: at(minutes),
})
/** Failed first at this time, and is in this status since five minutes ago. */
const failing = (status: Worker['status'], minutes: number): Partial<Worker> => ({
  ...dead(status, -5),
  failures: 2,
  state_history: (['RUNNING', 'STARTING', 'FAILED', 'STARTING', 'FAILED'] as const).map((to, n) => ({
    ...{ from: null, to, at: at(n === 4 ? -5 : minutes), because: reason('no_reason_recorded') },
  })),
})
const blocked = (minutes: number): Partial<Worker> => ({
  ...dead('STARTING', minutes),
  conditions: condition(CONDITION.blocked, minutes),
})

describe('a session with a lab', () => {
  it.each<[string, Partial<Worker> | null, Answer, Answer]>([
    ['serves', {}, 'stays', 'stays'],
    ['has no record', null, 'at once', 'at once'],
    ['is TERMINATED', dead('TERMINATED', 0), 'at once', 'at once'],
    ['is TERMINATING', dead('TERMINATING', -60), 'stays', 'for capacity'],
    ['has been STOPPED for 9 min', dead('STOPPED', -9), 'stays', 'stays'],
    ['has been STOPPED for 10 min', dead('STOPPED', -10), 'for capacity', 'for capacity'],
    ['has been FAILED for 9 min', dead('FAILED', -9), 'stays', 'stays'],
    ['has been FAILED for 10 min', dead('FAILED', -10), 'for capacity', 'for capacity'],
    ['has failed again and again for 9 min', failing('FAILED', -9), 'stays', 'stays'],
    ['has failed again and again for 10 min', failing('FAILED', -10), 'for capacity', 'for capacity'],
    ['starts again after it failed 10 min ago', failing('STARTING', -10), 'for capacity', 'for capacity'],
    ['has been UNKNOWN for an hour', dead('UNKNOWN', -60), 'stays', 'for capacity'],
    ['has been starting for an hour', dead('STARTING', -60), 'stays', 'stays'],
    ['EC2 could not start for 9 min', blocked(-9), 'stays', 'stays'],
    ['EC2 could not start for 10 min', blocked(-10), 'for capacity', 'for capacity'],
    ['runs with a CML that is silent for 9 min', silent(-9), 'stays', 'stays'],
    ['runs with a CML that is silent for an hour', silent(-60), 'stays', 'for capacity'],
    ['drains and serves', { status: 'DRAINING', drain }, 'stays', 'stays'],
    ['drains with a silent CML', { ...silent(-60), status: 'DRAINING', drain }, 'stays', 'for capacity'],
    ['is to be stopped', { desired_status: 'STOPPED' }, 'stays', 'for capacity'],
  ])('whose worker %s', (_, worker, inUse, early) => {
    expect(answer({}, worker)).toBe(inUse)
    expect(answer({ status: 'READY' }, worker)).toBe(inUse)
    expect(answer({ status: 'READY', timeslot: EARLY }, worker)).toBe(early)
  })

  it('leaves a worker whose labs LCM has stopped because it is terminated', () => {
    const because = reason('lab_stopped_by_termination', { worker: 'metal-1' })
    const conditions = [{ type: LAB_STOPPED, status: true, reason: because, since: at(-1) }]
    const stopped = { type: LAB_STOPPED, status: true, reason: reason('lab_stopped_on_cml', { state: 'STOPPED' }) }
    expect(answer({ conditions }, { status: 'TERMINATING' })).toBe('at once')
    expect(answer({ conditions: [{ ...stopped, since: at(-1) }] }, { status: 'TERMINATING' })).toBe('stays')
  })

  it.each<[string, Partial<LabletSession>]>([
    ['was canceled', { desired_status: 'TERMINATED' }],
    ['has no time left', { timeslot: { start: at(-60), end: at(0) } }],
  ])('stays when it %s', (_, more) => {
    expect(answer(more, null)).toBe('stays')
  })
})

it.each(SESSION_STATUSES)('decides about a %s session on a deleted worker', status => {
  const isMoved = status === 'SCHEDULED' || status === 'READY' || status === 'RUNNING'
  expect(answer({ status }, null)).toBe(isMoved ? 'at once' : 'stays')
})

it.each([
  ['starts soon leaves for capacity', 9, 'for capacity'],
  ['has started stays', 0, 'stays'],
  ['starts later stays', 11, 'stays'],
])('a session that is READY and %s after 2 minutes of silence', (_, startsInMinutes, expected) => {
  const timeslot = { start: at(startsInMinutes), end: at(60) }
  expect(answer({ status: 'READY', timeslot }, silent(-2))).toBe(expected)
})

it.each([
  ['starts soon is placed elsewhere', 9, 'at once'],
  ['has started is placed elsewhere', -1, 'at once'],
  ['starts later waits', 11, 'stays'],
])('a session without a lab that %s after 2 minutes of silence', (_, startsInMinutes, expected) => {
  const timeslot = { start: at(startsInMinutes), end: at(60) }
  expect(answer({ status: 'SCHEDULED', timeslot }, silent(-2))).toBe(expected)
})
