import { aLabRecord, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { withReservation } from '../calendar/worker-ledger.ts'
import type { LabRecord } from '../lab/lab-record.ts'
import { textReason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { afterSession, evidenceOf, withPeoplesLabs } from './activity-evidence.ts'

const event = (category: string, at: string, user_id: string | null = null, lab_id: string | null = null) => ({
  ...{ category, at, user_id, lab_id },
})
const telemetry = (events: readonly ReturnType<typeof event>[], more = {}) => ({
  own_user_id: 'us',
  is_collected: true,
  events,
  ...more,
})
const evidence = (of: ReturnType<typeof telemetry>, worker: Worker = aWorker(), runningNodes: number | null = null) =>
  evidenceOf(of, { runningNodes, worker })

it('is no evidence when nothing is collected', () => {
  expect(evidence(telemetry([], { is_collected: false }), aWorker(), 3)).toBeNull()
  expect(evidence(telemetry([]), aWorker(), 3)).toEqual({
    last_activity_at: null,
    running_nodes: 3,
    events: [],
    lab_events: [],
  })
})

it('counts activity of users, not of the server and not of LCM', () => {
  const found = evidence(
    telemetry([
      event('system_stats', '2026-01-01T05:00:00Z'),
      event('user_activity', '2026-01-01T04:00:00Z', 'us'),
      event('user_activity', '2026-01-01T03:00:00Z', 'ann'),
      event('start_lab', '2026-01-01T02:00:00+01:00'),
    ]),
  )
  expect(found?.last_activity_at).toBe('2026-01-01T03:00:00.000Z')
  expect(found?.events).toEqual([
    { at: '2026-01-01T01:00:00.000Z', category: 'start_lab', detail: '' },
    { at: '2026-01-01T03:00:00.000Z', category: 'user_activity', detail: 'user ann' },
  ])
})

it('counts activity of an unknown user', () => {
  const events = [event('user_activity', '2026-01-01T04:00:00Z')]
  expect(evidence(telemetry(events, { own_user_id: null }))?.last_activity_at).not.toBeNull()
})

it('ignores an invalid date, and keeps the newest of many events', () => {
  const many = Array.from({ length: 150 }, (_, n) => event('boot_node', new Date(n * 1000).toISOString()))
  const found = evidence(telemetry([event('start_lab', 'yesterday'), ...many]))
  expect(found?.events.length).toBe(100)
  expect(found?.last_activity_at).toBe('1970-01-01T00:02:29.000Z')
})

describe('node events, which name no user', () => {
  const END = '2026-01-01T18:00:00.000Z'
  const WIPED = '2026-01-01T18:00:05.000Z'
  const RELEASED = '2026-01-01T18:00:09.000Z'
  const LATER = '2026-01-01T18:10:00.000Z'
  const wiped = (lab_id: string | null, at = WIPED) => telemetry([event('wipe_node', at, null, lab_id)])
  const lastWith = (lab: Partial<LabRecord>, at = WIPED) => {
    const found = evidence(wiped('lab-1', at))
    return found && withPeoplesLabs(found, [aLabRecord({ lab_id: 'lab-1', ...lab })]).last_activity_at
  }

  it.each<[string, Partial<LabRecord>]>([
    ['of a session', { source: 'IMPORT', session_id: 'ls-1', status: 'BOOTED' }],
    ['of a session that is over', { source: 'IMPORT', session_id: 'ls-1', status: 'DELETED' }],
    ['kept for the next session', { source: 'IMPORT', session_id: null, status: 'WIPED' }],
    ['of a session that could not be torn down', { source: 'IMPORT', session_id: 'ls-1', status: 'ERROR' }],
  ])('do not count in a lab %s', (_, lab) => {
    expect(lastWith(lab)).toBeNull()
    expect(lastWith(lab, LATER)).toBeNull()
  })

  it.each<[string, Partial<LabRecord>]>([
    ['that a user created', { source: 'DISCOVERY', session_id: null, status: 'DEFINED' }],
    ['that was kept and that a user started', { source: 'IMPORT', session_id: null, status: 'BOOTED' }],
    ['without a record', { lab_id: 'another' }],
  ])('count in a lab %s', (_, lab) => {
    expect(lastWith(lab)).toBe(WIPED)
  })

  it('leave the newest of each lab, after the activity of users', () => {
    const found = evidence(
      telemetry([
        event('user_activity', END, 'ann'),
        event('boot_node', WIPED, null, 'lab-1'),
        event('stop_node', LATER, null, 'lab-1'),
        event('start_node', END, 'us', 'lab-2'),
      ]),
    )
    expect(found?.lab_events).toEqual([{ lab_id: 'lab-1', at: LATER, category: 'stop_node' }])
    expect(found && withPeoplesLabs(found, [])).toEqual({
      last_activity_at: LATER,
      running_nodes: null,
      events: [
        { at: END, category: 'user_activity', detail: 'user ann' },
        { at: LATER, category: 'stop_node', detail: 'lab lab-1' },
      ],
      lab_events: [],
    })
  })

  it('without a lab count only when no session explains them', () => {
    const { activity } = aWorker()
    const released = aWorker({ activity: { ...activity, sessions_until: RELEASED } })
    const inUse = withReservation(aWorker(), 'ls-1', aSession().needs, END)
    expect(evidence(wiped(null), inUse)?.last_activity_at).toBeNull()
    expect(evidence(wiped(null), released)?.last_activity_at).toBeNull()
    expect(evidence(wiped(null, LATER), released)?.last_activity_at).toBe(LATER)
    expect(evidence(wiped(null))?.last_activity_at).toBe(WIPED)
    const byAnn = telemetry([event('user_activity', WIPED, 'ann')])
    expect(evidence(byAnn, released)?.last_activity_at).toBe(WIPED)
  })
})

describe('a worker after a session', () => {
  const [START, END, NOW] = ['2026-01-01T17:00:00.000Z', '2026-01-01T18:00:00.000Z', '2026-01-01T18:00:09.000Z']
  const session = aSession({ id: 'ls-1', timeslot: { start: START, end: END } })
  const before = withReservation(aWorker(), 'ls-1', session.needs, START)
  const stopping = (at: string) => ({
    ...session,
    state_history: [{ from: 'RUNNING' as const, to: 'STOPPING' as const, at, because: textReason('') }],
  })

  it.each([
    ['its slot ended', '2026-01-01T18:00:00.321Z', END],
    ['it was canceled', '2026-01-01T17:20:00.000Z', '2026-01-01T17:20:00.000Z'],
  ])('was last used when %s', (_, at, used) => {
    const { activity, reservations } = afterSession(before, 'ls-1', stopping(at), NOW)
    expect(reservations).toEqual({})
    expect(activity).toMatchObject({ last_activity_at: used, idle_since: null, sessions_until: NOW })
    expect(activity.recent_events).toEqual([{ at: used, category: 'session_end', detail: 'ls-1' }])
  })

  it('keeps a later use', () => {
    const used = { ...before, activity: { ...before.activity, last_activity_at: NOW } }
    expect(afterSession(used, 'ls-1', stopping(END), NOW).activity.last_activity_at).toBe(NOW)
  })

  it.each([
    // Its nodes may have run before it was placed elsewhere.
    ['left it for another worker', null, NOW],
    ['never had a lab, so that all nodes belong to users', session, null],
  ])('was not used by a session that %s', (_, never, sessions_until) => {
    const { activity, reservations } = afterSession(before, 'ls-1', never, NOW)
    expect(reservations).toEqual({})
    expect(activity).toMatchObject({ last_activity_at: null, recent_events: [], sessions_until })
  })

  it('is the same when the session was released before', () => {
    expect(afterSession(aWorker(), 'ls-1', stopping(END), NOW)).toEqual(aWorker())
  })
})
