import { aServingWorker, aSession, aTarget } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { degraded, down, HEALTHY } from '../health.ts'
import { toInstant, toMs } from '../instant.ts'
import { reason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import type { Worker } from '../worker/worker.ts'
import { decideNotifications, type KnownSubject, noteSent, nothingSent, seen } from './decide-notifications.ts'
import { observedSession, observedWorker, subjectKey } from './notice.ts'
import type { NotificationTarget } from './notification-target.ts'

const MINUTE_MS = 60_000
const START = toMs('2026-01-02T09:00:00.000Z')
const END = toInstant(START + 120 * MINUTE_MS)
const at = (minutes: number) => toInstant(START + minutes * MINUTE_MS)

const target = (more: Partial<NotificationTarget> = {}) =>
  aTarget({ id: 'nt-1', name: 'all', created_at: at(-60), updated_at: at(-60), ...more })

const session = (more: Partial<LabletSession> = {}) =>
  aSession({ timeslot: { start: at(0), end: END }, status: 'RUNNING', ...more })
const ready = (minutes: number): LabletSession['state_history'][number] => ({
  from: 'INSTANTIATING',
  to: 'READY',
  at: at(minutes),
  because: reason('lab_ready'),
})
const moved = (minutes: number): LabletSession['state_history'][number] => ({
  from: 'RUNNING',
  to: 'PENDING',
  at: at(minutes),
  because: reason('session_moved', { cause: cause('metal-1') }),
})
const cause = (worker: string) => reason('lab_down', { worker, status: 'STOPPED', restarting: false })

/** A fleet that one target hears of, minute by minute. */
function aListener(to: NotificationTarget = target()) {
  const subjects = new Map<string, KnownSubject>()
  const sent = nothingSent()
  let nowMs = START
  const note = (record: LabletSession | Worker): void => {
    const observed = 'timeslot' in record ? observedSession(record, 'Two routers') : observedWorker(record)
    const key = subjectKey(observed.subject)
    subjects.set(key, seen(subjects.get(key), observed, nowMs))
  }
  function hear(): string[] {
    const drafts = decideNotifications({ target: to, subjects: subjects.values(), sent, nowMs })
    for (const { owner, kind, is_resolved, notices } of drafts)
      noteSent(sent, {
        owner,
        kind,
        is_resolved,
        created_at: toInstant(nowMs),
        notices: notices.map(({ key, group, gravity, subject }) => ({
          key,
          group,
          gravity,
          subject: subjectKey(subject),
        })),
      })
    return drafts.map(({ owner, kind, is_resolved, notices }) => {
      const ids = notices.map(({ subject }) => subject.id).join(',')
      return `${is_resolved ? 'resolved ' : ''}${kind} ${ids}${owner === null ? '' : ` to ${owner}`}`
    })
  }
  return {
    /** Notifications until `minutes` after the start, decided every five seconds. */
    until(minutes: number): string[] {
      const heard: string[] = []
      for (; nowMs <= START + minutes * MINUTE_MS; nowMs += 5_000) heard.push(...hear())
      return heard
    },
    note,
  }
}

describe('a problem', () => {
  const broken = (id: string, minutes: number, worker = 'metal-1') =>
    session({ id, health: down(cause(worker), at(minutes)) })

  it('of a class makes one notification with everyone it affects, and one when it is over', () => {
    const listener = aListener()
    const ids = Array.from({ length: 20 }, (_, index) => `ls-${index}`)
    for (const id of ids) listener.note(broken(id, 0))
    expect(listener.until(10)).toEqual([`session_down ${ids.join(',')}`])
    for (const id of ids) listener.note(session({ id }))
    expect(listener.until(20)).toEqual([`resolved session_down ${ids.join(',')}`])
  })

  it('that is over within half a minute is not sent', () => {
    const listener = aListener()
    listener.note(broken('ls-1', 0))
    expect(listener.until(0.25)).toEqual([])
    listener.note(session({ id: 'ls-1' }))
    expect(listener.until(10)).toEqual([])
  })

  it('that comes and goes is one problem', () => {
    const listener = aListener()
    const heard: string[] = []
    for (let minute = 0; minute < 10; minute += 1) {
      listener.note(broken('ls-1', minute))
      heard.push(...listener.until(minute + 0.6))
      listener.note(session({ id: 'ls-1' }))
      heard.push(...listener.until(minute + 0.9))
    }
    expect(heard).toEqual(['session_down ls-1'])
    expect(listener.until(15)).toEqual(['resolved session_down ls-1'])
  })

  it('that gets worse is sent again, and one that gets better is not', () => {
    const listener = aListener()
    listener.note(session({ id: 'ls-1', health: degraded(cause('metal-1'), at(0)) }))
    expect(listener.until(1)).toEqual(['session_degraded ls-1'])
    listener.note(broken('ls-1', 1))
    expect(listener.until(2)).toEqual(['session_down ls-1'])
    listener.note(session({ id: 'ls-1', health: degraded(cause('metal-1'), at(2)) }))
    expect(listener.until(5)).toEqual([])
    listener.note(session({ id: 'ls-1' }))
    expect(listener.until(10)).toEqual(['resolved session_down ls-1'])
  })

  it('is distinguished by its cause', () => {
    const listener = aListener()
    listener.note(broken('ls-1', 0))
    listener.note(broken('ls-2', 0, 'metal-2'))
    expect(listener.until(1)).toEqual(['session_down ls-1', 'session_down ls-2'])
  })

  it('is not resolved when its session ended', () => {
    const listener = aListener()
    listener.note(broken('ls-1', 0))
    expect(listener.until(1)).toEqual(['session_down ls-1'])
    listener.note(session({ id: 'ls-1', status: 'ARCHIVED', desired_status: 'TERMINATED' }))
    expect(listener.until(10)).toEqual([])
  })

  it('is over when its lab is ready again, which says so', () => {
    const listener = aListener()
    listener.note(broken('ls-1', 0))
    listener.until(1)
    listener.note(session({ id: 'ls-1', state_history: [ready(2)] }))
    expect(listener.until(10)).toEqual(['session_ready ls-1'])
    const other = aListener(target({ kinds: ['session_down'] }))
    other.note(broken('ls-1', 0))
    other.until(1)
    other.note(session({ id: 'ls-1', state_history: [ready(2)] }))
    expect(other.until(10)).toEqual(['resolved session_down ls-1'])
  })

  it('that lasted before its target was created is sent', () => {
    const listener = aListener(target({ updated_at: at(-1) }))
    listener.note(broken('ls-1', -600))
    expect(listener.until(1)).toEqual(['session_down ls-1'])
  })

  it('is not over while its session is moved, until its lab is ready', () => {
    const listener = aListener(target({ kinds: ['session_down'] }))
    listener.note(broken('ls-1', 0))
    expect(listener.until(1)).toEqual(['session_down ls-1'])
    const history = [moved(1)]
    const moving = { id: 'ls-1', state_history: history, health: down(reason('session_starts_elsewhere'), at(1)) }
    listener.note(session({ ...moving, status: 'PENDING' }))
    expect(listener.until(10)).toEqual([])
    listener.note(session({ ...moving, status: 'INSTANTIATING' }))
    expect(listener.until(20)).toEqual([])
    listener.note(session({ id: 'ls-1', state_history: [...history, ready(20)] }))
    expect(listener.until(30)).toEqual(['resolved session_down ls-1'])
  })

  it('is not resolved once its session was canceled', () => {
    const listener = aListener()
    listener.note(broken('ls-1', 0))
    expect(listener.until(1)).toEqual(['session_down ls-1'])
    listener.note(session({ id: 'ls-1', desired_status: 'TERMINATED' }))
    expect(listener.until(10)).toEqual([])
  })

  describe('of a worker', () => {
    const worker = aServingWorker({ id: 'w-1', name: 'metal-1' })
    const starting = { ...worker, service_status: 'STARTING' as const }

    it.each([
      ['serves again', worker, ['resolved worker_failed w-1']],
      [
        'was stopped by request',
        { ...worker, status: 'STOPPED', desired_status: 'STOPPED' },
        ['resolved worker_failed w-1'],
      ],
      ['starts', { ...starting, status: 'STARTING' }, []],
      ['runs without its CML', { ...starting, status: 'RUNNING' }, []],
      ['is being stopped', { ...worker, status: 'STOPPING' }, []],
      ['is being terminated', { ...worker, status: 'TERMINATING' }, []],
      ['is gone', { ...worker, status: 'TERMINATED' }, []],
    ] as const)('that %s', (_, next, expected) => {
      const listener = aListener()
      listener.note({ ...worker, status: 'FAILED', entered_status_at: at(0) })
      expect(listener.until(1)).toEqual(['worker_failed w-1'])
      listener.note(next)
      expect(listener.until(20)).toEqual(expected)
    })
  })
})

describe('a waiting session', () => {
  const waiting = (health = HEALTHY) =>
    session({
      id: 'ls-1',
      status: 'PENDING',
      health,
      waiting_reason: reason('region_worker_limit', { region: 'r', limit: 2 }),
    })

  it('is sent when an operator must act, and again when it is late', () => {
    const listener = aListener()
    listener.note(waiting())
    expect(listener.until(1)).toEqual(['capacity_short ls-1'])
    listener.note(waiting(down(reason('region_worker_limit', { region: 'r', limit: 2 }), at(2))))
    expect(listener.until(5)).toEqual(['capacity_short ls-1'])
    listener.note(session({ id: 'ls-1', status: 'INSTANTIATING' }))
    expect(listener.until(10)).toEqual(['resolved capacity_short ls-1'])
  })

  it('is not resolved while it waits for another reason', () => {
    const listener = aListener()
    listener.note(waiting())
    expect(listener.until(1)).toEqual(['capacity_short ls-1'])
    for (let minute = 1; minute < 20; minute += 6) {
      listener.note({ ...waiting(), waiting_reason: reason('scale_up_in_progress', { workers: 1 }) })
      expect(listener.until(minute + 3)).toEqual([])
      listener.note(waiting())
      expect(listener.until(minute + 6)).toEqual([])
    }
  })

  it('is sent again when it lost its worker before its lab began', () => {
    const listener = aListener()
    const late = down(reason('region_worker_limit', { region: 'r', limit: 2 }), at(0))
    listener.note(waiting(late))
    expect(listener.until(1)).toEqual(['capacity_short ls-1'])
    listener.note(session({ id: 'ls-1', status: 'INSTANTIATING' }))
    expect(listener.until(5)).toEqual(['resolved capacity_short ls-1'])
    listener.note({ ...waiting(late), entered_status_at: at(5) })
    expect(listener.until(10)).toEqual(['capacity_short ls-1'])
  })

  it('that was moved says that it moves, not that it waits for its new worker', () => {
    const listener = aListener()
    listener.note(
      session({
        id: 'ls-1',
        status: 'PENDING',
        state_history: [ready(-1), moved(0)],
        health: down(reason('session_starts_elsewhere'), at(0)),
      }),
    )
    expect(listener.until(5)).toEqual(['session_moved ls-1'])
  })
})

describe('a session at risk', () => {
  const booked = (since: number | null, more: Partial<LabletSession> = {}) => {
    const lost = reason('capacity_lost', { since: at(since ?? 0), cause: reason('capacity_booked_no_template') })
    const admission = { ...aSession().admission, kind: 'admitted', at_risk: since === null ? null : lost } as const
    return session({ id: 'ls-1', status: 'PENDING', waiting_reason: null, admission, ...more })
  }

  it('is sent once, resolved when its capacity is back, and sent again when that is lost again', () => {
    const listener = aListener()
    listener.note(booked(0))
    expect(listener.until(1)).toEqual(['session_at_risk ls-1'])
    listener.note(booked(0, { updated_at: at(2) }))
    expect(listener.until(5)).toEqual([])
    listener.note(booked(null))
    expect(listener.until(10)).toEqual(['resolved session_at_risk ls-1'])
    listener.note(booked(10))
    expect(listener.until(15)).toEqual(['session_at_risk ls-1'])
  })

  it('is not sent when it has a worker, or was canceled', () => {
    const listener = aListener()
    listener.note(booked(0, { status: 'SCHEDULED', worker_id: 'w-1' }))
    listener.note(booked(0, { id: 'ls-2', desired_status: 'TERMINATED' }))
    expect(listener.until(5)).toEqual([])
  })
})

describe('an event', () => {
  it('before its target was changed is not sent', () => {
    const listener = aListener(target({ updated_at: at(0) }))
    listener.note(session({ id: 'ls-1', state_history: [ready(-2)] }))
    expect(listener.until(5)).toEqual([])
  })

  it('that is due while its target is changed is sent', () => {
    const listener = aListener(target({ updated_at: at(0) }))
    listener.note(session({ id: 'ls-1', state_history: [ready(-0.5)] }))
    expect(listener.until(5)).toEqual(['session_ready ls-1'])
  })

  it('is sent when the session ends soon, again after an extension, and never after the end', () => {
    const listener = aListener()
    listener.note(session({ id: 'ls-1' }))
    expect(listener.until(109)).toEqual([])
    expect(listener.until(111)).toEqual(['session_ends_soon ls-1'])
    listener.note(session({ id: 'ls-1', timeslot: { start: at(0), end: at(150) } }))
    expect(listener.until(139)).toEqual([])
    expect(listener.until(141)).toEqual(['session_ends_soon ls-1'])
    const late = aListener()
    late.until(151)
    late.note(session({ id: 'ls-1', timeslot: { start: at(0), end: at(150) } }))
    expect(late.until(160)).toEqual([])
  })

  it.each([
    { why: 'its machine is gone', from: 'RUNNING', to: 'STOPPING', minutes: 60, expected: ['session_lost ls-1'] },
    { why: 'it never got a lab', from: 'PENDING', to: 'EXPIRED', minutes: 120, expected: ['session_lost ls-1'] },
    { why: 'its time is over', from: 'RUNNING', to: 'STOPPING', minutes: 120, expected: [] },
    { why: 'its owner canceled it', from: 'RUNNING', to: 'STOPPING', minutes: 60, isCanceled: true, expected: [] },
  ] as const)('of a session that ends because $why', ({ from, to, minutes, expected, ...more }) => {
    const desired_status = 'isCanceled' in more ? 'TERMINATED' : 'RUNNING'
    const listener = aListener()
    listener.until(minutes)
    const end = { from, to, at: at(minutes), because: reason('worker_deleted') }
    listener.note(session({ id: 'ls-1', status: to, desired_status, state_history: [end] }))
    expect(listener.until(minutes + 5)).toEqual(expected)
  })
})

describe('a target', () => {
  const broken = session({ id: 'ls-1', owner: 'ann', health: down(cause('metal-1'), at(0)) })
  const worker = { ...aServingWorker({ id: 'w-1' }), status: 'FAILED' as const, entered_status_at: at(0) }

  it.each<[string, Partial<NotificationTarget>, string[]]>([
    ['everything', {}, ['session_down ls-1', 'worker_failed w-1', 'session_ready ls-2']],
    ['its kinds', { kinds: ['worker_failed'] }, ['worker_failed w-1']],
    ['its severity', { min_severity: 'critical' }, ['session_down ls-1', 'worker_failed w-1']],
    ['its definitions', { definitions: ['two-routers'] }, ['session_down ls-1', 'session_ready ls-2']],
    ['its owners', { owners: ['bob'] }, ['session_ready ls-2']],
    ['owners alone', { type: 'email', to_owner: true }, ['session_down ls-1 to ann', 'session_ready ls-2 to bob']],
    [
      'its addresses and owners',
      { type: 'email', to: ['a@example.com'], to_owner: true, kinds: ['session_down', 'worker_failed'] },
      ['session_down ls-1', 'session_down ls-1 to ann', 'worker_failed w-1'],
    ],
  ])('hears of %s', (_, more, expected) => {
    const listener = aListener(target(more))
    listener.note(broken)
    listener.note(worker)
    listener.note(session({ id: 'ls-2', owner: 'bob', state_history: [ready(0)] }))
    expect(listener.until(1).toSorted()).toEqual(expected.toSorted())
  })
})
