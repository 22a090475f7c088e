import type { Role } from '@lcm/domain/actor'
import { reason } from '@lcm/domain/reason'
import { SESSION_STATUSES, WORKER_UNAVAILABLE } from '@lcm/domain/session/lablet-session'
import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import type { Info } from '../../../state/live-state.ts'
import { type ActionFacts, availableActions, disabledReasonOf, mayAct, minutesLeft } from './session-actions.ts'

const NOW_MS = Date.parse('2026-01-02T03:34:05.000Z')
const facts = (more: Partial<ActionFacts> = {}): ActionFacts => ({
  nowMs: NOW_MS,
  isOperator: false,
  longest: null,
  ...more,
})
const whoIs = (id: string, role: Role): Info => ({
  version: '0.1.0',
  profile: 'embedded',
  cloud: 'sim',
  regions: [],
  sim_control: null,
  actor: { id, name: id, role },
})

it('allows owners and operators', () => {
  const session = aSession({ owner: 'token:1' })
  const may = (id: string, role: Role) => mayAct(whoIs(id, role), session)
  expect([may('token:1', 'user'), may('token:2', 'user'), may('token:2', 'author')]).toEqual([true, false, false])
  expect([may('token:2', 'operator'), may('admin', 'admin'), mayAct(null, session)]).toEqual([true, true, false])
})

it('extends as long as the definition allows', () => {
  expect(minutesLeft(aSession(), 90)).toBe(30)
  expect(disabledReasonOf('extend', aSession(), facts({ longest: 90 }))).toBe(null)
  expect(disabledReasonOf('extend', aSession(), facts({ longest: 60 }))).toBe(
    'The timeslot already has the maximum of 60 min for two-routers',
  )
  expect(disabledReasonOf('extend', aSession(), facts({ nowMs: NOW_MS + 3_600_000, longest: 90 }))).toBe(
    'Its timeslot has ended',
  )
  expect(disabledReasonOf('extend', aSession(), facts())).toBe('Its definition was deleted')
  expect(disabledReasonOf('extend', aSession({ desired_status: 'TERMINATED' }), facts({ longest: 90 }))).toBe(
    'The session was canceled',
  )
})

it('offers in each status what the API would accept', () => {
  const offered = SESSION_STATUSES.map(status => [
    status,
    availableActions(aSession({ status }), facts(), 'page').join(' '),
  ])
  expect(Object.fromEntries(offered)).toEqual({
    PENDING: 'retry extend cancel',
    SCHEDULED: 'retry extend move requeue cancel',
    INSTANTIATING: 'extend move cancel',
    READY: 'extend cancel',
    RUNNING: 'extend cancel',
    STOPPING: '',
    STOPPED: '',
    EXPIRED: '',
    ARCHIVED: '',
    TERMINATED: '',
  })
  expect(availableActions(aSession({ status: 'PENDING' }), facts(), 'row')).toEqual(['extend', 'cancel'])
  expect(availableActions(aSession({ status: 'INSTANTIATING', last_error: 'oh' }), facts(), 'row')[0]).toBe('retry')
})

it('cancels once', () => {
  expect(disabledReasonOf('cancel', aSession(), facts())).toBe(null)
  expect(disabledReasonOf('cancel', aSession({ desired_status: 'TERMINATED' }), facts())).toBe(
    'The session was canceled',
  )
})

it('offers a move to operators while a session is placed, and to owners while it fails', () => {
  const offersTo = (isOperator: boolean, session: Parameters<typeof aSession>[0]) =>
    availableActions(aSession(session), facts({ isOperator }), 'row').includes('move')
  const placed = SESSION_STATUSES.filter(status => offersTo(true, { status }))
  expect(placed).toEqual(['SCHEDULED', 'INSTANTIATING', 'READY', 'RUNNING'])
  const conditions = [
    { type: WORKER_UNAVAILABLE, status: true, reason: reason('not_given'), since: '2026-01-02T03:30:00.000Z' },
  ]
  expect([offersTo(false, { status: 'RUNNING' }), offersTo(false, { status: 'RUNNING', conditions })]).toEqual([
    false,
    true,
  ])
})
