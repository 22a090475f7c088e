import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import type { SessionAdmission } from '../calendar/session-admission.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { Worker } from '../worker/worker.ts'
import { promiseWarnings } from './lost-promises.ts'

const SINCE = '2026-01-01T10:00:00.000Z'
const FULL = reason('capacity_booked', { limit: 2, region: 'us-east-1' })
const SETTINGS = { max_workers_per_region: 2, scale_up_enabled: true }

const lost = (cause: Reason, more: Partial<LabletSession> = {}, kind: SessionAdmission['kind'] = 'admitted') => {
  const session = aSession({ status: 'PENDING', owner_name: 'Ann', ...more })
  return {
    ...session,
    admission: { ...session.admission, kind, at_risk: reason('capacity_lost', { since: SINCE, cause }) },
  }
}
const from = (sessions: LabletSession[], more: object = {}) =>
  promiseWarnings({ sessions, workers: [], templates: [], settings: SETTINGS, ...more })

it('are none without a session that waits and is at risk', () => {
  expect(from([aSession({ status: 'PENDING' }), lost(FULL, { status: 'SCHEDULED' })])).toEqual([])
  expect(from([lost(FULL, { desired_status: 'TERMINATED' })])).toEqual([])
})

it('name the owners and the first start, for lost promises and for those that were never made', () => {
  const slot = (start: string) => ({ start, end: '2026-01-03T00:00:00.000Z' })
  const sessions = [
    lost(FULL, { timeslot: slot('2026-01-02T10:00:00.000Z') }),
    lost(FULL, { timeslot: slot('2026-01-02T09:00:00.000Z'), owner_name: 'Bob' }),
    lost(FULL, { timeslot: slot('2026-01-02T11:00:00.000Z') }),
    lost(FULL, { owner: 'token:x', owner_name: '' }, 'best_effort'),
  ]
  expect(from(sessions)).toMatchObject([
    {
      id: 'promises:lost',
      kind: 'session_at_risk',
      is_critical: true,
      reason: {
        code: 'promises_lost',
        params: { sessions: 3, owners: ['Bob', 'Ann'], start: '2026-01-02T09:00:00.000Z' },
      },
    },
    { id: 'promises:missing', reason: { code: 'promises_missing', params: { sessions: 1, owners: ['token:x'] } } },
  ])
})

const worker = (name: string, more: Partial<Worker> = {}) =>
  aServingWorker({ name, desired_status: 'RUNNING', ...more })
const drain = { by: 'ann' } as Worker['drain']
const CLOSED = [
  worker('open'),
  worker('closed', { cordoned: true }),
  worker('drained', { drain }),
  worker('stopped', { desired_status: 'STOPPED' }),
  worker('paused', { desired_status: 'STOPPED', pause: { ...aServingWorker().pause, reason: textReason('idle') } }),
  worker('gone', { desired_status: 'TERMINATED', cordoned: true }),
]
const TEMPLATES = [
  { name: 'metal', enabled: false },
  { name: 'nested', enabled: true },
]

it.each([
  ['the limit', FULL, {}, 'raise max_workers_per_region (it is 2), or ask the owners to book another time'],
  [
    'scale-up',
    reason('capacity_booked_no_scale_up'),
    { settings: { ...SETTINGS, scale_up_enabled: false } },
    'set scale_up_enabled to true, or ask the owners to book another time',
  ],
  [
    'closed workers',
    FULL,
    { workers: CLOSED },
    'raise max_workers_per_region (it is 2), uncordon closed, cancel the drain of drained, start stopped, ' +
      'or ask the owners to book another time',
  ],
  [
    'a disabled template',
    reason('capacity_booked_no_template'),
    { templates: TEMPLATES },
    'enable template metal, or ask the owners to book another time',
  ],
  [
    'licenses',
    reason('capacity_booked_license', { node_limit: 5, license: null }),
    { templates: TEMPLATES },
    'raise max_workers_per_region (it is 2), add licenses, or ask the owners to book another time',
  ],
])('say how to bring it back: %s', (_, cause, more, fix) => {
  expect(from([lost(cause)], more)[0]?.fix.message).toBe(fix)
})
