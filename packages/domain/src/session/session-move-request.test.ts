import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import {
  type LabletSession,
  NEVER_SAVED,
  SESSION_STATUSES,
  type SessionStatus,
  WORKER_UNAVAILABLE,
} from './lablet-session.ts'
import { movedAwayFrom, moveRefusal, moveStep, moveWarning } from './session-move-request.ts'

const NOW = '2026-01-02T03:30:00.000Z'
const DOWN = reason('lab_down', { worker: 'metal-1', status: 'STOPPED', restarting: false })
const conditions = [{ type: WORKER_UNAVAILABLE, status: true, reason: DOWN, since: NOW }]
const BY_ANN = reason('session_moved_by', { by: 'ann', worker: 'metal-1', worker_id: 'w-1', reason: '', unsaved: null })
const MOVE = { requested_at: NOW, requested_by: 'ann', worker: 'metal-1', reason: '' }
const moved = (status: SessionStatus): Partial<LabletSession> => ({
  status,
  state_history: [
    { from: 'READY', to: 'RUNNING', at: '2026-01-02T03:10:00.000Z', because: reason('timeslot_started') },
    { from: 'RUNNING', to: 'PENDING', at: '2026-01-02T03:20:00.000Z', because: BY_ANN },
  ],
})

const asked = (more: Partial<LabletSession>, isOperator: boolean): string =>
  moveRefusal(aSession(more), NOW, isOperator)?.code ?? 'moved'

describe('a request to move a session', () => {
  it.each<[string, Partial<LabletSession>, string, string]>([
    ['that works', { status: 'RUNNING' }, 'moved', 'session_works'],
    ['that fails', { status: 'RUNNING', conditions }, 'moved', 'moved'],
    ['that waits for its timeslot', { status: 'READY' }, 'moved', 'session_works'],
    [
      'that is placed',
      { status: 'SCHEDULED', timeslot: { start: NOW, end: '2026-01-02T04:00:00.000Z' } },
      'moved',
      'session_works',
    ],
    ['that waits for a worker', { status: 'PENDING' }, 'session_has_no_worker', 'session_has_no_worker'],
    ['that waits after a move', moved('PENDING'), 'move_in_progress', 'move_in_progress'],
    ['that starts after a move', moved('INSTANTIATING'), 'moved', 'move_in_progress'],
    ['that is saved before it moves', { status: 'RUNNING', move: MOVE, conditions }, ...twice('move_in_progress')],
    [
      'that was canceled',
      { status: 'RUNNING', conditions, desired_status: 'TERMINATED' },
      ...twice('session_was_canceled'),
    ],
    ['whose time is over', { status: 'RUNNING', timeslot: { start: NOW, end: NOW } }, ...twice('timeslot_ended')],
    ['that ends', { status: 'STOPPING' }, ...twice('session_ending')],
    ['that is over', { status: 'ARCHIVED' }, ...twice('session_ended')],
  ])('%s', (_, session, byOperator, byOwner) => {
    expect([asked(session, true), asked(session, false)]).toEqual([byOperator, byOwner])
  })

  it('has an answer for every status', () => {
    const accepted = SESSION_STATUSES.filter(status => asked({ status }, true) === 'moved')
    expect(accepted).toEqual(['SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING'])
  })
})

function twice(code: string): [string, string] {
  return [code, code]
}

it.each<[string, Partial<LabletSession>, string | null, string]>([
  ['has no lab yet', { status: 'SCHEDULED' }, null, 'is not ready yet, so no work is lost.'],
  ['was saved', { status: 'RUNNING' }, '03:20', 'from its last save of 03:20. Changes since then are lost.'],
  ['was never saved', { status: 'RUNNING' }, null, 'from the beginning. All changes in the lab are lost.'],
  ['continued', { status: 'READY', restore_from: 'sv-1' }, null, 'from the save that the session was booked with.'],
])('warns what is lost when a session without saves %s', (_, more, savedAt, expected) => {
  expect(moveWarning(aSession(more), savedAt, false)).toContain(expected)
})

it('says that a lab is saved first, and from where it starts if that fails', () => {
  const warning = (more: Partial<LabletSession>, savedAt: string | null) =>
    moveWarning(aSession({ status: 'RUNNING', ...more }), savedAt, true)
  expect(warning({}, '03:20')).toBe(
    'LCM saves the work in the lab, which takes a minute at most. Then the lab starts again from there on another worker. ' +
      'If the save fails, it starts from its last save of 03:20, and changes since then are lost.',
  )
  expect(warning({}, null)).toContain('it starts from the beginning, and all changes in the lab are lost.')
  expect(warning({ conditions }, '03:20')).not.toContain('LCM saves')
})

describe('a session that a person moves', () => {
  const NOW_MS = toMs(NOW)
  const leaving = (save: Partial<LabletSession['save']>, isServing = true, laterMs = 30_000) =>
    moveStep(
      aSession({ status: 'RUNNING', worker_id: 'w-1', move: MOVE, save: { ...NEVER_SAVED, ...save } }),
      isServing,
      NOW_MS + laterMs,
    )
  const unsaved = (step: ReturnType<typeof moveStep>) => (step?.kind === 'leave' ? step.because.params.unsaved : step)
  const asked = { requested_at: NOW, requested_by: 'ann' }
  const failed = reason('save_failed', { error: 'no answer' })

  it('waits for its save, for a minute', () => {
    expect(leaving(asked)).toEqual({ kind: 'save', leftMs: 30_000 })
    expect(unsaved(leaving(asked, true, 60_000))).toEqual(reason('save_out_of_time'))
    expect(unsaved(leaving(asked, false))).toEqual(reason('save_out_of_time'))
  })

  it('leaves once an attempt to save it ended, and says when that failed', () => {
    const outcome = reason('lab_saved', { skipped: 0 })
    expect(leaving({ outcome })).toEqual({ kind: 'leave', because: BY_ANN })
    expect(leaving({ outcome, requested_at: '2026-01-02T03:30:20.000Z' }), 'another request').toMatchObject({
      kind: 'leave',
    })
    expect(unsaved(leaving({ outcome: failed }))).toEqual(failed)
  })

  it('does nothing without a request, and when it ends', () => {
    expect(moveStep(aSession({ status: 'RUNNING' }), true, NOW_MS)).toBe(null)
    expect(moveStep(aSession({ status: 'STOPPING', move: MOVE }), true, NOW_MS)).toBe(null)
  })
})

it('knows which worker a person moved a waiting session away from', () => {
  expect(movedAwayFrom(aSession(moved('PENDING')))).toBe('w-1')
  expect(movedAwayFrom(aSession(moved('SCHEDULED')))).toBe(null)
  expect(movedAwayFrom(aSession())).toBe(null)
})
