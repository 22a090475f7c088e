import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { degraded, down, type Health } from '../health.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import { unschedulable } from '../session/unschedulable-reason.ts'
import { affectedSessions } from './affected-sessions.ts'

const SINCE = '2026-01-02T03:10:00.000Z'
const SHORTAGE = { workers: 4, resource: 'nodes', needed: 3, free: 2, node_limit: 5, license: null } as const
const unlicensed = reason('insufficient_capacity', SHORTAGE)
const fullMachine = reason('insufficient_capacity', { ...SHORTAGE, resource: 'cpu_cores', node_limit: null })
const atLimit = (cause: Reason, limit = 10): Reason =>
  reason('no_capacity', { cause, scale_up: reason('region_worker_limit', { region: 'us-east-1', limit }) })
const refused = (refusal: Reason): Reason =>
  reason('scale_up_refused', {
    cause: reason('no_capacity', { cause: unlicensed, scale_up: reason('scale_up_requested', { template: 'nested' }) }),
    refusal,
  })

const late = (waiting_reason: Reason, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({ waiting_reason, health: down(waiting_reason, SINCE), ...more })
const placed = (health: Health, more: Partial<LabletSession> = {}): LabletSession =>
  aSession({ status: 'RUNNING', worker_id: 'w-1', health, ...more })

const shown = (...sessions: LabletSession[]) =>
  affectedSessions(sessions).map(({ health, headline, fix }) => [health, headline.message, fix?.message ?? null])

const LIMIT = '1 session waits: the limit of 10 workers in us-east-1 is reached'

describe('a session that waits', () => {
  it.each<[string, Reason, string, string | null]>([
    ['at the limit, unlicensed', atLimit(unlicensed), LIMIT, 'raise max_workers_per_region, or register a license'],
    [
      'at the limit, with full machines',
      atLimit(fullMachine),
      LIMIT,
      'raise max_workers_per_region, or end sessions that are not needed',
    ],
    [
      'for a purchase that the API refused',
      refused(reason('region_limit', { region: 'us-east-1', workers: 10, count: 1, limit: 10 })),
      LIMIT,
      'raise max_workers_per_region, or register a license',
    ],
    [
      'without scale-up',
      reason('no_capacity', { cause: unlicensed, scale_up: reason('scale_up_disabled') }),
      '1 session waits: scale-up is turned off (scale_up_enabled is false)',
      'set scale_up_enabled to true, or start or create a worker',
    ],
    [
      'for a worker that would be ready too late',
      reason('no_capacity', { cause: unlicensed, scale_up: reason('new_worker_too_late', { minutes: 20 }) }),
      '1 session waits: a new worker takes about 20 min to be ready, and the timeslot ends before that',
      'extend the timeslot, or end sessions that are not needed',
    ],
    [
      'for a cooldown',
      refused(reason('scale_up_cooldown', { template: 'nested', last_at: SINCE, seconds: 285 })),
      '1 session waits: scale-up of nested is on cooldown for 285 s',
      null,
    ],
    [
      'for a template',
      unschedulable(reason('no_template_enabled')),
      '1 session waits: no template is enabled',
      'enable or create a template that fits, or change the definition',
    ],
    [
      'for a definition that is gone',
      unschedulable(reason('definition_deleted')),
      '1 session waits: the definition no longer exists',
      'cancel the session with `lcm cancel session ls-1`, and book another definition',
    ],
    [
      'for the scheduler',
      reason('waiting_for_placement'),
      '1 session waits: waiting for resource-scheduler to place the session',
      'check resource-scheduler with `lcm get services`',
    ],
    ['for another reason', textReason('no idea'), '1 session waits: no idea', 'see `lcm why session ls-1`'],
  ])('%s', (_, because, headline, fix) => {
    expect(shown(late(because))).toEqual([['DOWN', headline, fix]])
  })

  it('is listed before its start only when an operator can do something', () => {
    const cooldown = refused(reason('scale_up_cooldown', { template: 'nested', last_at: SINCE, seconds: 285 }))
    expect(shown(aSession({ waiting_reason: cooldown }))).toEqual([])
    expect(shown(aSession({ waiting_reason: atLimit(fullMachine) }))).toMatchObject([['OK', LIMIT, expect.any(String)]])
    expect(shown(aSession(), aSession({ waiting_reason: cooldown, desired_status: 'TERMINATED' }))).toEqual([])
  })
})

describe('a session with a worker', () => {
  const lab = { worker: 'nested-1', restarting: true }
  it.each<[string, Health, string, string | null]>([
    [
      'that is being restarted',
      down(reason('lab_down', { ...lab, status: 'STARTING' }), SINCE),
      '1 session is down: nested-1 is STARTING',
      'LCM starts the labs again when nested-1 is running; if that takes long, see `lcm why worker nested-1`, or move the sessions',
    ],
    [
      'that is gone',
      down(reason('lab_down', { ...lab, status: 'FAILED' }), SINCE),
      '1 session is down: nested-1 is FAILED',
      'see `lcm why worker nested-1`; LCM moves the sessions if the worker stays down and another one has capacity',
    ],
    [
      'with a silent CML',
      degraded(reason('lab_state_unknown', { worker: 'metal-2', status: 'RUNNING' }), SINCE),
      '1 session is degraded: CML on metal-2 is not available',
      'see `lcm why worker metal-2`; the labs may still run, so LCM does not move them by itself',
    ],
    [
      'and a lab that was stopped by hand',
      degraded(reason('lab_stopped_on_cml', { state: 'STOPPED' }), SINCE),
      '1 session is degraded: CML reports the lab as STOPPED: it was stopped on CML while its worker was running',
      'ask the owner, or start the lab again with `lcm retry session ls-1`',
    ],
    [
      'and a lab that is started elsewhere',
      down(reason('session_starts_elsewhere'), SINCE),
      '1 session is down: the lab is being started on another worker',
      null,
    ],
  ])('%s', (_, health, headline, fix) => {
    expect(shown(placed(health))).toEqual([[health.status, headline, fix]])
  })
})

describe('groups', () => {
  it('join the sessions of one cause, the longest affected first', () => {
    const others = [3, 2, 1].map(n =>
      late(atLimit(n === 1 ? unlicensed : fullMachine), {
        id: `ls-${n}`,
        health: down(atLimit(fullMachine), `2026-01-02T03:0${n}:00.000Z`),
      }),
    )
    const [group, ...more] = affectedSessions(others)
    expect(more).toEqual([])
    expect(group?.headline.message).toBe('3 sessions wait: the limit of 10 workers in us-east-1 is reached')
    expect(group?.fix?.message).toBe('raise max_workers_per_region, or register a license')
    expect(group?.sessions.map(({ session, since }) => [session.id, since.slice(11, 16)])).toEqual([
      ['ls-1', '03:01'],
      ['ls-2', '03:02'],
      ['ls-3', '03:03'],
    ])
  })

  it('do not depend on seconds that pass', () => {
    const cooldown = (seconds: number) =>
      late(refused(reason('scale_up_cooldown', { template: 'nested', last_at: SINCE, seconds })))
    expect(affectedSessions([cooldown(285), cooldown(280)])).toHaveLength(1)
  })

  it('list people who are down before those who may work, then the largest', () => {
    const silent = (worker: string) =>
      placed(degraded(reason('lab_state_unknown', { worker, status: 'RUNNING' }), SINCE))
    const groups = affectedSessions([silent('a'), silent('b'), silent('b'), late(atLimit(unlicensed))])
    expect(groups.map(({ health, sessions }) => [health, sessions.length])).toEqual([
      ['DOWN', 1],
      ['DEGRADED', 2],
      ['DEGRADED', 1],
    ])
    expect(new Set(groups.map(({ key }) => key)).size).toBe(3)
  })
})
