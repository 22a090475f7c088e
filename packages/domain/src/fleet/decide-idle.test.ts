import { aWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import { WORKER_STATUSES, type Worker } from '../worker/worker.ts'
import {
  decideIdle,
  effectiveIdleAction,
  type FleetCounts,
  type IdleEvidence,
  UNREADABLE,
  type Unreadable,
} from './decide-idle.ts'
import { SETTING_DEFAULTS, type SettingValues } from './settings.ts'

const CREATED = '2026-01-01T00:00:00.000Z'
const NOW = toMs('2026-01-01T10:00:00.000Z')
const before = (seconds: number) => toInstant(NOW - seconds * 1000)
const RESERVATION = { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(CREATED) }
const QUIET: IdleEvidence = { last_activity_at: null, running_nodes: null }
const FLEET: FleetCounts = { running: 5, lastScaleDownAt: null, recentStops: 0, size: 5, isHeld: false }
const ONE_OF_20: FleetCounts = { ...FLEET, recentStops: 1, size: 20 }
const COOLDOWN = { scale_down_cooldown_seconds: 600 }

interface Case {
  readonly worker?: Partial<Worker>
  readonly evidence?: IdleEvidence | null
  readonly settings?: Partial<SettingValues>
  readonly fleet?: FleetCounts | null
  readonly unreadable?: Unreadable
}

function decide({ worker, evidence = QUIET, settings, fleet = FLEET, unreadable }: Case) {
  const subject = aWorker({ created_at: CREATED, entered_status_at: CREATED, status: 'RUNNING', ...worker })
  return decideIdle(
    subject,
    evidence,
    { ...SETTING_DEFAULTS, ...settings },
    { fleet, nowMs: NOW, unreadable: unreadable ?? null },
  )
}

const paused = aWorker().pause

describe('an idle worker', () => {
  it('is paused, with every guard and its values', () => {
    const { verdict, guards, idleSince } = decide({})
    expect(verdict).toMatchObject({
      kind: 'pause',
      because: {
        code: 'idle_timeout',
        params: { worker: 'metal-1', idle_seconds: 36_000, timeout_seconds: 3600 },
      },
    })
    expect(guards.every(guard => guard.passed)).toBe(true)
    expect(guards.map(guard => guard.name)).toEqual([
      'already_paused',
      'idle_seconds',
      'idle_detection_enabled',
      'idle_action',
      'needs_approval',
      'status',
      'protected',
      'draining',
      'sessions',
      'wanted_by',
      'running_nodes_kept',
      'snoozed_seconds',
      'held_by_person_seconds',
      'fleet_held',
      'running_workers',
      'stops_within_10_minutes',
    ])
    expect(idleSince).toBe(CREATED)
  })

  it('is drained when the policy is drain and scale-down is on', () => {
    const settings = { idle_action: 'drain', scale_down_enabled: true } as const
    expect(decide({ settings }).verdict.kind).toBe('drain')
    expect(effectiveIdleAction({ ...SETTING_DEFAULTS, ...settings, scale_down_enabled: false })).toBe('none')
  })

  it('is checked without its fleet first, so that workers need not be counted', () => {
    const { verdict, guards } = decide({ fleet: null })
    expect(verdict.kind).toBe('pause')
    expect(guards.map(guard => guard.name)).not.toContain('running_workers')
  })
})

describe('idle time starts at the last use or start', () => {
  const HOUR = 3600
  it.each<[string, Case, number]>([
    ['its creation', { worker: { created_at: before(HOUR) } }, HOUR],
    ['the moment at which it became RUNNING', { worker: { entered_status_at: before(HOUR) } }, HOUR],
    ['a resume', { worker: { pause: { ...paused, last_resumed_at: before(2 * HOUR) } } }, 2 * HOUR],
    ['recorded activity', { worker: withActivity(before(3 * HOUR)) }, 3 * HOUR],
    ['new activity', { evidence: { ...QUIET, last_activity_at: before(4 * HOUR) } }, 4 * HOUR],
    [
      'the newest of all',
      { worker: withActivity(before(5 * HOUR)), evidence: { ...QUIET, last_activity_at: before(3 * HOUR) } },
      3 * HOUR,
    ],
  ])('%s', (_, which, seconds) => {
    const { verdict, idleSince } = decide(which)
    expect([verdict.kind, idleSince]).toEqual(['pause', before(seconds)])
  })

  it('must be at least the timeout ago', () => {
    const almost = decide({ evidence: { ...QUIET, last_activity_at: toInstant(NOW - 3_599_999) } })
    expect([almost.verdict.kind, almost.idleSince]).toEqual(['skipped_not_idle', null])
    expect(almost.guards.find(guard => !guard.passed)).toMatchObject({ name: 'idle_seconds', value: 3599, limit: 3600 })
    expect(decide({ evidence: { ...QUIET, last_activity_at: before(3600) } }).verdict.kind).toBe('pause')
  })
})

function withActivity(last_activity_at: string): Partial<Worker> {
  return { activity: { ...aWorker().activity, last_activity_at } }
}

const DRAIN = { requested_at: CREATED, by: 'ann', reason: '', deadline: before(-60) }

describe('every guard alone prevents a stop', () => {
  it.each<[string, string, Case]>([
    ['already_paused', 'skipped_auto_pause', { worker: { desired_status: 'STOPPED' } }],
    ['idle_seconds', 'skipped_not_idle', { evidence: { ...QUIET, last_activity_at: before(10) } }],
    ['idle_seconds', 'skipped_not_idle', { evidence: null }],
    ['idle_detection_enabled', 'skipped_not_eligible', { settings: { idle_detection_enabled: false } }],
    ['idle_detection_enabled', 'skipped_not_eligible', { worker: { idle_detection_enabled: false } }],
    ['idle_action', 'skipped_not_eligible', { settings: { idle_action: 'none' } }],
    ['idle_action', 'skipped_not_eligible', { settings: { idle_action: 'drain' } }],
    ['status', 'skipped_not_eligible', { worker: { status: 'STARTING' } }],
    ['protected', 'skipped_not_eligible', { worker: { protected: true } }],
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    ['draining', 'skipped_not_eligible', { worker: { drain: { ...DRAIN, then: 'STOPPED' } } }],
    ['sessions', 'skipped_not_eligible', { worker: { reservations: { 'ls-1': RESERVATION } } }],
    ['wanted_by', 'skipped_not_eligible', { worker: { wanted_by: ['ls-1'] } }],
    [
      'running_nodes_kept',
      'skipped_not_eligible',
      { settings: { idle_running_nodes: 'keep' }, evidence: { ...QUIET, running_nodes: 1 } },
    ],
    ['running_nodes_kept', 'skipped_not_eligible', { settings: { idle_running_nodes: 'keep' }, evidence: QUIET }],
    [
      'snoozed_seconds',
      'skipped_not_eligible',
      { settings: { idle_timeout_seconds: 60 }, worker: { pause: { ...paused, last_resumed_at: before(3599) } } },
    ],
    ['held_by_person_seconds', 'skipped_not_eligible', { worker: { desired_until: before(-1) } }],
    ['fleet_held', 'skipped_not_eligible', { fleet: { ...FLEET, isHeld: true } }],
    ['running_workers', 'skipped_min_workers', { settings: { min_workers: 5 } }],
    ['stops_within_10_minutes', 'skipped_cooldown', { fleet: { ...FLEET, recentStops: 1 } }],
    ['stops_within_10_minutes', 'skipped_cooldown', { fleet: { ...FLEET, recentStops: 5, size: 20 } }],
    ['stops_within_10_minutes', 'skipped_cooldown', { settings: { scale_down_max_share: 0 }, fleet: ONE_OF_20 }],
    [
      'seconds_since_scale_down',
      'skipped_cooldown',
      { settings: COOLDOWN, fleet: { ...FLEET, lastScaleDownAt: before(599) } },
    ],
  ])('%s: %s', (name, kind, which) => {
    const { verdict, guards } = decide(which)
    expect(verdict.kind).toBe(kind)
    expect(guards.filter(guard => !guard.passed).map(guard => guard.name)).toEqual([name])
  })

  it.each<[string, Case]>([
    ['nodes run without activity', { evidence: { ...QUIET, running_nodes: 9 } }],
    [
      'no nodes run and running nodes would keep it',
      { settings: { idle_running_nodes: 'keep' }, evidence: { ...QUIET, running_nodes: 0 } },
    ],
    ['the snooze is over', { worker: { pause: { ...paused, last_resumed_at: before(3600) } } }],
    ['the hold is over', { worker: { desired_until: before(0) } }],
    ['one more worker runs than the minimum', { settings: { min_workers: 4 } }],
    ['a quarter of the fleet was not stopped yet', { fleet: { ...FLEET, recentStops: 4, size: 20 } }],
    ['it is the only worker', { fleet: { ...FLEET, running: 1, size: 1 } }],
    ['the share is 0 and nothing was stopped yet', { settings: { scale_down_max_share: 0 } }],
    ['the cooldown is over', { settings: COOLDOWN, fleet: { ...FLEET, lastScaleDownAt: before(600) } }],
    ['a cooldown of 0 is set', { settings: { scale_down_cooldown_seconds: 0 }, fleet: { ...FLEET, recentStops: 5 } }],
  ])('no guard prevents a stop when %s', (_, which) => {
    expect(decide(which).verdict.kind).toBe('pause')
  })

  it('the guards are checked in a fixed order, and the first that fails is named', () => {
    const all = { worker: { protected: true, wanted_by: ['ls-1'] }, settings: { min_workers: 9 } }
    expect(decide(all).verdict).toMatchObject({
      kind: 'skipped_not_eligible',
      because: { code: 'worker_protected' },
    })
    expect(decide({ ...all, evidence: null }).verdict).toMatchObject({
      kind: 'skipped_not_idle',
      because: { code: 'telemetry_unreadable' },
    })
  })

  it.each(UNREADABLE)("a worker that can't be judged (%s) is never stopped, with that reason", unreadable => {
    const { verdict, guards, idleSince } = decide({ evidence: null, unreadable })
    expect([verdict.kind, idleSince]).toEqual(['skipped_cannot_judge', null])
    expect(verdict.because).toMatchObject({ code: 'idle_unknown', params: { telemetry: unreadable } })
    expect(guards.find(guard => !guard.passed)).toMatchObject({ name: 'telemetry', value: unreadable })
  })
})

/** Mostly values that pass, so that the later guards are reached too. */
const mostly = <T>(usual: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })
const instant = fc.integer({ min: -7200, max: 7200 }).map(before)
const someWorker = fc
  .record({
    status: mostly('RUNNING' as const, fc.constantFrom(...WORKER_STATUSES)),
    desired_status: mostly<Worker['desired_status']>('RUNNING', fc.constantFrom('STOPPED', 'TERMINATED')),
    created_at: fc.integer({ min: 0, max: 7200 }).map(before),
    entered_status_at: mostly(CREATED, instant),
    protected: mostly(false, fc.boolean()),
    idle_detection_enabled: mostly(true, fc.boolean()),
    desired_until: mostly<string | null>(null, instant),
    wanted_by: mostly<string[]>([], fc.constant(['ls-1'])),
    reservations: mostly<Worker['reservations']>({}, fc.constant({ 'ls-1': RESERVATION })),
    last_resumed_at: mostly<string | null>(null, instant),
  })
  .map(({ last_resumed_at, ...more }) => aWorker({ ...more, pause: { ...paused, last_resumed_at } }))
const someSettings = fc
  .record({
    idle_detection_enabled: mostly(true, fc.boolean()),
    idle_action: mostly<SettingValues['idle_action']>('pause', fc.constantFrom('drain', 'none')),
    idle_running_nodes: fc.constantFrom<SettingValues['idle_running_nodes'][]>('pause', 'keep'),
    scale_down_enabled: fc.boolean(),
    idle_timeout_seconds: fc.constantFrom(0, 60, 3600),
    min_workers: fc.constantFrom(0, 1, 3),
    scale_down_cooldown_seconds: fc.constantFrom<SettingValues['scale_down_cooldown_seconds'][]>('off', 600),
    scale_down_max_share: fc.constantFrom(0, 0.25, 1),
  })
  .map(some => ({ ...SETTING_DEFAULTS, ...some }))
const someEvidence = mostly<IdleEvidence | null>(
  QUIET,
  fc.option(
    fc.record({
      last_activity_at: mostly<string | null>(null, instant),
      running_nodes: mostly<number | null>(0, fc.nat(3)),
    }),
    { nil: null },
  ),
)
const someFleet = fc
  .record({
    running: fc.nat(9),
    lastScaleDownAt: mostly<string | null>(null, instant),
    recentStops: mostly(0, fc.nat(5)),
    isHeld: mostly(false, fc.boolean()),
  })
  .map(fleet => ({ ...fleet, size: fleet.running + fleet.recentStops }))

describe('for any input', () => {
  it('a stop never violates a hold, a session, the minimum, the brake or an unknown state', () => {
    let stops = 0
    const property = fc.property(
      someWorker,
      someEvidence,
      someSettings,
      someFleet,
      (worker, evidence, settings, fleet) => {
        const { verdict, guards, idleSince } = decideIdle(worker, evidence, settings, { fleet, nowMs: NOW })
        const isStop = verdict.kind === 'pause' || verdict.kind === 'drain'
        expect(isStop).toBe(guards.every(guard => guard.passed))
        expect(verdict.because.message).not.toBe('')
        if (!isStop) return
        stops += 1
        expect(evidence).not.toBeNull()
        expect(idleSince).not.toBeNull()
        expect([worker.status, worker.desired_status, worker.protected]).toEqual(['RUNNING', 'RUNNING', false])
        expect(Object.keys(worker.reservations).length + worker.wanted_by.length).toBe(0)
        expect(worker.desired_until === null || toMs(worker.desired_until) <= NOW).toBe(true)
        expect(fleet.running).toBeGreaterThan(settings.min_workers)
        expect(fleet.isHeld).toBe(false)
        const { lastScaleDownAt, recentStops, size } = fleet
        if (settings.scale_down_cooldown_seconds === 'off')
          expect(recentStops === 0 || recentStops + 1 <= settings.scale_down_max_share * size).toBe(true)
        else expect(lastScaleDownAt === null || NOW - toMs(lastScaleDownAt) >= 600_000).toBe(true)
        expect(verdict.kind).toBe(effectiveIdleAction(settings))
        if (settings.idle_running_nodes === 'keep') expect(evidence?.running_nodes).toBe(0)
      },
    )
    fc.assert(property, { numRuns: 5_000, seed: 3 })
    expect(stops).toBeGreaterThan(100)
  })
})
