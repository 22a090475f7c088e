import { affectedSessions } from '@lcm/domain/fleet/affected-sessions'
import { degraded, down } from '@lcm/domain/health'
import { reason, textReason } from '@lcm/domain/reason'
import { CML_REASONS } from '@lcm/domain/worker/decision/cml-access'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'
import { aDefinition, aLabRecord, aServingWorker, aSession, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { parseHash } from '../../state/router.ts'
import { attentionOf, groupsOf, type Watched } from './attention-items.ts'

const THEN = '2026-01-02T03:04:05.000Z'
const NOW_MS = Date.parse('2026-01-02T03:30:00.000Z')
const QUIET: Watched = {
  workers: [],
  sessions: [],
  affected: [],
  definitions: [],
  labs: [],
  services: null,
  leaks: [],
  warnings: [],
  nowMs: NOW_MS,
}
const found = (more: Partial<Watched>) =>
  attentionOf({ ...QUIET, ...more, affected: affectedSessions(more.sessions ?? []) }).map(({ urgency, what, text }) => [
    urgency,
    what,
    text,
  ])
const LEAK = {
  id: 'll-1',
  version: 1,
  created_at: THEN,
  updated_at: THEN,
  worker_id: 'w-9',
  worker_name: 'gone',
  udi: null,
  hostname: 'cml-9',
  product: null,
  at: THEN,
  reason: textReason('it vanished'),
  resolved_at: null,
  resolved_by: null,
}
const condition = (type: string, message: string, status = true) => ({
  type,
  status,
  reason: textReason(message),
  since: THEN,
})

it('lists warnings about the fleet with what to do', () => {
  const used = { period: 'day', date: '2026-01-02', limit: 100, spent_usd: 90, committed_usd: 0 } as const
  const warning = { id: 'budget:day', kind: 'budget', fix: reason('fix_budget', { period: 'day' }) } as const
  const warnings = [
    { ...warning, is_critical: false, reason: reason('budget_short', used) },
    { ...warning, id: 'workers:r', kind: 'capacity_ahead', is_critical: true, reason: reason('budget_used_up', used) },
    {
      ...warning,
      id: 'promises:lost',
      kind: 'session_at_risk',
      is_critical: true,
      reason: reason('budget_used_up', used),
    },
  ] as const
  expect(found({ warnings })).toEqual([
    ['alarm', 'Sessions at risk', expect.stringMatching(/is used up/)],
    ['alarm', 'Too little ahead', expect.stringMatching(/is used up.*; raise it with/)],
    ['watch', 'Budget', expect.stringMatching(/^most of the budget of \$100.00/)],
  ])
})

describe('workers that need attention', () => {
  it('have failed, with the reason', () => {
    const conditions = [condition('Failed', 'the image is gone')]
    expect(found({ workers: [aWorker({ status: 'FAILED', conditions })] })).toEqual([
      ['alarm', 'Worker failed', 'the image is gone'],
    ])
  })

  it('have a CML that denies access', () => {
    const conditions = [condition('CmlAccessRefused', "CML refuses LCM's login")]
    expect(found({ workers: [aWorker({ status: 'RUNNING', conditions })] })).toEqual([
      ['alarm', 'CML access denied', "CML refuses LCM's login"],
    ])
  })

  it('have no CML login or an ignored endpoint tag, without an alarm', () => {
    const refused = (code: string, message: string) => ({
      ...condition('CmlAccessRefused', message),
      reason: { code, message, params: { worker_id: 'w-1' } },
    })
    const noLogin = refused(CML_REASONS.credentials, 'LCM has no credentials')
    const workers = [
      aWorker({ id: 'a', status: 'RUNNING', conditions: [noLogin] }),
      aWorker({ id: 'aa', status: 'RUNNING', conditions: [refused(CML_REASONS.telemetry_off, 'off')] }),
      aWorker({ id: 'b', status: 'RUNNING', conditions: [condition('EndpointTagIgnored', 'the tag is ignored')] }),
    ]
    expect(found({ workers })).toEqual([
      ['watch', 'CML login missing', 'LCM has no credentials; set the CML account with `lcm set credentials w-1`'],
      ['watch', 'CML telemetry is off', 'off; turn on telemetry in CML, or turn off idle detection for this worker'],
      ['watch', 'Endpoint tag ignored', 'the tag is ignored'],
    ])
  })

  it('need an approval, or show another certificate', () => {
    const workers = [
      aWorker({ id: 'a', status: 'RUNNING', ec2_instance_id: 'i-1' }),
      aWorker({ id: 'b', status: 'RUNNING', conditions: [condition('CertificateChanged', 'another certificate')] }),
    ]
    expect(found({ workers })).toEqual([
      ['alarm', 'Certificate changed', 'another certificate'],
      ['watch', 'Approval required', expect.stringContaining('lcm approve worker a')],
    ])
  })

  it('are stuck, blocked, lost or overdue in a drain', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    const drain = { requested_at: THEN, by: 'ann', reason: '', then: 'STOPPED' as const, deadline: THEN }
    const workers = [
      aWorker({ id: 'a', status: 'STOPPING', conditions: [condition('Overdue', 'EC2 takes long')] }),
      aWorker({ id: 'b', status: 'PENDING', conditions: [condition('LaunchBlocked', 'no subnet')] }),
      aWorker({ id: 'c', status: 'DRAINING', drain }),
      aWorker({ id: 'd', status: 'UNKNOWN', entered_status_at: THEN }),
    ]
    expect(found({ workers }).map(([, what]) => what)).toEqual([
      'Stuck',
      'Launch blocked',
      'Drain overdue',
      'Status unknown',
    ])
  })

  it('are down or degraded, unless sessions name them as their cause', () => {
    const silent = aServingWorker({ id: 'a', name: 'metal-1', service_status: 'UNAVAILABLE' })
    const unmeasured = aServingWorker({
      id: 'b',
      name: 'metal-2',
      conditions: [condition('MetricsStale', 'no numbers')],
    })
    const workers = [silent, unmeasured]
    expect(found({ workers })).toEqual([
      ['alarm', 'Worker DOWN', 'CML on the worker is UNAVAILABLE'],
      ['watch', 'Worker DEGRADED', 'no numbers'],
    ])
    const health = degraded(reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }), THEN)
    const sessions = [aSession({ status: 'RUNNING', health })]
    expect(found({ workers, sessions })).toEqual([['watch', 'Worker DEGRADED', 'no numbers']])
  })

  it('have lost their machine, for one day', () => {
    const lost = { status: 'TERMINATED', entered_status_at: THEN } as const
    const workers = [
      aWorker({ id: 'a', ...lost, desired_status: 'RUNNING' }),
      aWorker({ id: 'b', ...lost, desired_status: 'RUNNING', entered_status_at: '2026-01-01T03:29:59.000Z' }),
      aWorker({ id: 'c', ...lost, desired_status: 'TERMINATED' }),
    ]
    expect(attentionOf({ ...QUIET, workers })).toMatchObject([
      { key: 'a', urgency: 'alarm', what: 'Worker lost', text: 'its machine no longer exists', href: '#/workers/a' },
    ])
  })

  it('are not healthy, terminated or recovered', () => {
    const workers = [
      aServingWorker({ conditions: [condition('Overdue', 'was late', false)] }),
      aWorker({ status: 'TERMINATED', desired_status: 'TERMINATED', conditions: [condition('Overdue', 'was late')] }),
    ]
    expect(found({ workers })).toEqual([])
  })
})

describe('a worker that sessions name as their cause', () => {
  const because = reason('lab_down', { worker: 'metal-1', status: 'STARTING', restarting: true })
  const sessions = [aSession({ status: 'RUNNING', worker_id: 'w-1', health: down(because, THEN) })]
  const starting = (more: Partial<Worker>) => aWorker({ name: 'metal-1', status: 'STARTING', ...more })

  it('is not listed again', () => {
    const conditions = [condition('Overdue', 'the boot takes long')]
    expect(found({ sessions, workers: [starting({ conditions })] })).toEqual([])
  })

  it('is listed if it is kept from starting, because the labs stay down until that is solved', () => {
    const conditions = [condition('LaunchBlocked', 'EC2 has no capacity')]
    expect(found({ sessions, workers: [starting({ conditions })] })).toMatchObject([
      [expect.anything(), 'Launch blocked', 'EC2 has no capacity'],
    ])
  })
})

describe('sessions that need attention', () => {
  it('are listed by cause elsewhere while their owners wait', () => {
    const because = reason('no_workers')
    expect(found({ sessions: [aSession({ waiting_reason: because, health: down(because, THEN) })] })).toEqual([])
  })

  it('have a step that failed, or should be over', () => {
    const steps = {
      import: {
        status: 'failed' as const,
        attempts: 1,
        started_at: THEN,
        ended_at: THEN,
        output: {},
        error: 'CML: 500',
      },
    }
    const over = { start: '2026-01-02T01:00:00.000Z', end: '2026-01-02T02:00:00.000Z' }
    const sessions = [
      aSession({ status: 'INSTANTIATING', pipeline: { name: 'instantiate', attempt: 1, steps } }),
      aSession({ id: 'b', status: 'STOPPING', timeslot: over }),
      aSession({ id: 'c', status: 'ARCHIVED', timeslot: over, pipeline: { name: 'teardown', attempt: 1, steps } }),
    ]
    expect(found({ sessions })).toEqual([
      ['alarm', 'Session stuck', 'its timeslot has ended, but it is still STOPPING'],
      ['alarm', 'Step failed', 'CML: 500'],
    ])
  })
})

describe('other resources that need attention', () => {
  const instance = (healthy: boolean) => ({ instance_id: 'wc-1', watch: { healthy, age_seconds: 72.4 } })
  it('include a service without a leader or without change events', () => {
    const leaderless = [{ service: 'worker-controller', leader: null, instances: [instance(true)] }]
    const deaf = [{ service: 'worker-controller', leader: {}, instances: [instance(false)] }]
    expect(found({ services: leaderless })).toEqual([
      ['alarm', 'No leader', 'no decisions are made until a replica becomes leader'],
    ])
    expect(found({ services: deaf })[0]).toMatchObject(['watch', 'Watch degraded', expect.stringContaining('72 s')])
  })

  it('include a leaked license until it is resolved', () => {
    expect(found({ leaks: [LEAK, { ...LEAK, resolved_at: THEN }] })).toEqual([
      ['watch', 'Leaked license', 'it vanished · cml-9'],
    ])
  })

  it("include a definition that can't be fetched, and a lab whose action fails", () => {
    const sync = { ...aDefinition().sync, status: 'failed' as const, error: '404' }
    const pending_action = { action: 'wipe' as const, by: 'ann', at: THEN, attempts: 3, error: 'CML says no' }
    const labs = [aLabRecord({ pending_action }), aLabRecord({ status: 'BOOTED' })]
    expect(found({ definitions: [aDefinition({ sync })], labs })).toEqual([
      ['watch', 'Sync failed', '404'],
      ['watch', 'Could not wipe lab', 'CML says no'],
    ])
  })
})

describe('groups', () => {
  it('show a few of each kind, so that many items of one kind do not hide the others', () => {
    const storm = Array.from({ length: 9 }, (_, n) => aWorker({ id: `w-${n}`, status: 'FAILED' }))
    const items = attentionOf({
      ...QUIET,
      workers: storm,
      sessions: [
        aSession({
          status: 'STOPPING',
          timeslot: { start: '2026-01-02T01:00:00.000Z', end: '2026-01-02T02:00:00.000Z' },
        }),
      ],
    })
    expect(
      groupsOf(items).map(({ what, shown, moreCount, moreHref }) => [what, shown.length, moreCount, moreHref]),
    ).toEqual([
      ['Session stuck', 1, 0, '#/sessions?status=STOPPING'],
      ['Worker failed', 4, 5, '#/workers?status=FAILED'],
    ])
  })

  it('link to all items of a kind, regardless of status', () => {
    const overdue = [{ type: CONDITION.overdue, status: true, reason: textReason('late'), since: THEN }]
    const statuses = ['STARTING', 'STOPPING', 'STARTING', 'STOPPING', 'TERMINATING'] as const
    const workers = statuses.map((status, n) => aWorker({ id: `w-${n}`, status, conditions: overdue }))
    const [group] = groupsOf(attentionOf({ ...QUIET, workers }))
    expect(group).toMatchObject({ what: 'Stuck', moreCount: 1 })
    expect(parseHash(group?.moreHref ?? '')).toMatchObject({ query: { status: 'STARTING,STOPPING,TERMINATING' } })
  })

  it('show every leaked license, because no other page resolves them', () => {
    const leaks = Array.from({ length: 9 }, (_, n) => ({ ...LEAK, id: `ll-${n}` }))
    expect(groupsOf(attentionOf({ ...QUIET, leaks }))).toMatchObject([{ shown: { length: 9 }, moreCount: 0 }])
  })
})
