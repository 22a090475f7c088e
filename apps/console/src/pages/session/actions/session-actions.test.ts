import type { Role } from '@lcm/domain/actor'
import { SESSION_STATUSES } from '@lcm/domain/session/lablet-session'
import { aSession } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import type { Info } from '../../../state/live-state.ts'
import { availableActions, disabledReasonOf, mayAct, minutesLeft } from './session-actions.ts'

const NOW_MS = Date.parse('2026-01-02T03:34:05.000Z')
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
  expect(disabledReasonOf('extend', aSession(), NOW_MS, 90)).toBe(null)
  expect(disabledReasonOf('extend', aSession(), NOW_MS, 60)).toBe(
    'The timeslot already has the maximum of 60 min for two-routers',
  )
  expect(disabledReasonOf('extend', aSession(), NOW_MS + 3_600_000, 90)).toBe('Its timeslot has ended')
  expect(disabledReasonOf('extend', aSession(), NOW_MS, null)).toBe('Its definition was deleted')
  expect(disabledReasonOf('extend', aSession({ desired_status: 'TERMINATED' }), NOW_MS, 90)).toBe(
    'The session was canceled',
  )
})

it('offers in each status what the API would accept', () => {
  const offered = SESSION_STATUSES.map(status => [
    status,
    availableActions(aSession({ status }), NOW_MS, 'page').join(' '),
  ])
  expect(Object.fromEntries(offered)).toEqual({
    PENDING: 'retry extend cancel',
    SCHEDULED: 'retry extend requeue cancel',
    INSTANTIATING: 'extend cancel',
    READY: 'extend cancel',
    RUNNING: 'extend cancel',
    STOPPING: '',
    STOPPED: '',
    EXPIRED: '',
    ARCHIVED: '',
    TERMINATED: '',
  })
  expect(availableActions(aSession({ status: 'PENDING' }), NOW_MS, 'row')).toEqual(['extend', 'cancel'])
  expect(availableActions(aSession({ status: 'INSTANTIATING', last_error: 'oh' }), NOW_MS, 'row')[0]).toBe('retry')
})

it('cancels once', () => {
  expect(disabledReasonOf('cancel', aSession(), NOW_MS, null)).toBe(null)
  expect(disabledReasonOf('cancel', aSession({ desired_status: 'TERMINATED' }), NOW_MS, null)).toBe(
    'The session was canceled',
  )
})
