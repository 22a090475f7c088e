import { aWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { heldFrom } from '../calendar/worker-ledger.ts'
import { toInstant, toMs } from '../instant.ts'
import type { PlannedStep } from '../plan/plan.ts'
import { reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { decideIdle, type FleetCounts, type IdleEvidence } from './decide-idle.ts'
import { dueStepOf, type IdleCalendar, isUsedByHand } from './idle-calendar.ts'
import { SETTING_DEFAULTS, type SettingValues } from './settings.ts'

const CREATED = '2026-01-01T00:00:00.000Z'
const NOW = toMs('2026-01-01T10:00:00.000Z')
const before = (minutes: number) => toInstant(NOW - minutes * 60_000)
const RELEASED = before(2)
const QUIET: IdleEvidence = { last_activity_at: null, running_nodes: 0 }
const FLEET: FleetCounts = { running: 5, lastScaleDownAt: null, recentStops: 0, size: 5, isHeld: false }
const { activity, pause } = aWorker()
/** Its last session was released two minutes ago. */
const RELEASED_WORKER: Partial<Worker> = {
  ...{ status: 'RUNNING', created_at: CREATED, entered_status_at: CREATED },
  activity: { ...activity, last_activity_at: before(5), sessions_until: RELEASED },
}
const stepOf = (kind: PlannedStep['kind'], minutesAgo = 0): PlannedStep => ({
  ...{ kind, at: before(minutesAgo), usd: 1, session_ids: [] },
  because: reason('no_capacity_for_sessions', { sessions: 3 }),
})
const BOOT_MS = 10 * 60_000

interface Case {
  readonly worker?: Partial<Worker>
  readonly evidence?: IdleEvidence | null
  readonly settings?: Partial<SettingValues>
  readonly step?: PlannedStep | null
}

function decide({ worker, evidence = QUIET, settings, step = null }: Case) {
  const calendar: IdleCalendar = { step, bootMs: BOOT_MS }
  const subject = aWorker({ ...RELEASED_WORKER, ...worker })
  return decideIdle(subject, evidence, { ...SETTING_DEFAULTS, ...settings }, { fleet: FLEET, nowMs: NOW, calendar })
}
const verdictOf = (which: Case) => {
  const { kind, because } = decide(which).verdict
  return [kind, because.code]
}

describe('by the calendar, a worker without sessions', () => {
  it('is stopped as soon as the plan says so, for the reason of the plan', () => {
    const step = stepOf('stop')
    const { verdict, guards, idleSince } = decide({ step })
    expect(verdict).toEqual({ kind: 'pause', because: step.because })
    expect(guards.find(({ name }) => name === 'plan')).toEqual({
      name: 'plan',
      value: 'stop',
      limit: 'stop',
      passed: true,
    })
    expect(idleSince).toBe(before(5))
  })

  it.each(['stay', 'wake', 'buy', 'terminate'] as const)('stays while the plan says %s', kind => {
    const step = stepOf(kind)
    expect(decide({ step, worker: { entered_status_at: CREATED } }).verdict).toEqual({
      kind: 'skipped_not_idle',
      because: step.because,
    })
  })

  it('waits as long as a start takes while no plan has it', () => {
    const rested = (minutes: number) => ({
      activity: { ...activity, last_activity_at: before(minutes), sessions_until: before(1) },
    })
    expect(decide({ worker: rested(9) }).verdict.because).toMatchObject({
      code: 'not_idle',
      params: { idle_seconds: 540, timeout_seconds: 600 },
    })
    expect(decide({ worker: rested(10) }).verdict).toMatchObject({
      kind: 'pause',
      because: { code: 'idle_without_plan', params: { worker: 'metal-1', idle_seconds: 600, boot_seconds: 600 } },
    })
  })

  it('is never judged without evidence', () => {
    expect(verdictOf({ step: stepOf('stop'), evidence: null })).toEqual(['skipped_not_idle', 'telemetry_unreadable'])
  })

  it('is not snoozed by a start for sessions, but by that of a person', () => {
    const resumed = { pause: { ...pause, last_resumed_at: before(30) } }
    const step = stepOf('stop')
    expect(verdictOf({ step, worker: { ...resumed, desired_by: 'resume_for_session' } })[0]).toBe('pause')
    expect(verdictOf({ step, worker: { ...resumed, desired_by: 'ann' } })).toEqual([
      'skipped_not_eligible',
      'idle_snoozed',
    ])
  })

  it('is snoozed by its creation by a person', () => {
    const step = stepOf('stop')
    const created = { created_at: before(30), entered_status_at: before(29) }
    const at = (worker: Partial<Worker>) => verdictOf({ step, worker: { ...created, ...worker } })
    expect(at({ origin: 'USER' })).toEqual(['skipped_not_eligible', 'idle_snoozed'])
    expect(at({ origin: 'SCALE_UP' })[0]).toBe('pause')
    expect(at({ origin: 'USER', created_at: before(61) })[0]).toBe('pause')
  })

  it.each<[string, Partial<Worker>, Partial<SettingValues>]>([
    ['it is protected', { protected: true }, {}],
    ['sessions wait for it', { wanted_by: ['ls-1'] }, {}],
    [
      'a session is on it',
      { reservations: { 'ls-1': { cpu_cores: 1, memory_gb: 1, storage_gb: 1, nodes: 1, ...heldFrom(CREATED) } } },
      {},
    ],
    ['a person holds it', { desired_until: toInstant(NOW + 1) }, {}],
    ['idle detection is off', {}, { idle_detection_enabled: false }],
    ['min_workers is reached', {}, { min_workers: 5 }],
  ])('stays when %s, whatever the plan says', (_, worker, settings) => {
    expect(decide({ step: stepOf('stop'), worker, settings }).verdict.kind).toMatch(/^skipped_/)
  })
})

describe('a worker that is used by hand follows the idle timeout', () => {
  const step = stepOf('stop')
  it.each<[string, Case]>([
    ['a node runs on it', { evidence: { ...QUIET, running_nodes: 1 } }],
    ['it was used after its last session', { evidence: { ...QUIET, last_activity_at: before(1) } }],
    [
      'it is known to be used since',
      { worker: { activity: { ...activity, last_activity_at: before(1), sessions_until: RELEASED } } },
    ],
    ['it was created by hand and had no session yet', { worker: { activity, created_at: before(3) } }],
  ])('when %s', (_, which) => {
    const { guards, verdict } = decide({ step, ...which })
    expect(verdict.because).toMatchObject({ code: 'not_idle', params: { timeout_seconds: 3600 } })
    expect(guards.map(({ name }) => name)).not.toContain('plan')
  })

  it('and is stopped after it', () => {
    const used = { activity: { ...activity, last_activity_at: before(60), sessions_until: before(70) } }
    expect(verdictOf({ step: stepOf('stay'), worker: used })).toEqual(['pause', 'idle_timeout'])
  })

  it('unless the scheduler bought it', () => {
    expect(isUsedByHand({ activity, created_at: CREATED, origin: 'SCALE_UP' }, QUIET)).toBe(false)
    expect(isUsedByHand({ activity, created_at: CREATED, origin: 'USER' }, QUIET)).toBe(true)
    const used = { ...QUIET, last_activity_at: before(1) }
    expect(isUsedByHand({ activity, created_at: CREATED, origin: 'SCALE_UP' }, used)).toBe(true)
  })
})

it('other idle actions don’t follow the plan', () => {
  for (const idle_action of ['pause', 'drain'] as const)
    expect(verdictOf({ step: stepOf('stop'), settings: { idle_action, scale_down_enabled: true } })).toEqual([
      'skipped_not_idle',
      'not_idle',
    ])
})

it('the step that is due is the newest one', () => {
  const steps = [stepOf('stay', 30), stepOf('stop', 10), stepOf('wake', -60)]
  const machines = [{ key: 'w-1', worker_id: 'w-1', template_name: 'metal', session_ids: [], steps }]
  expect(dueStepOf({ machines }, 'w-1', NOW)).toBe(steps[1])
  expect(dueStepOf({ machines }, 'w-1', NOW - 20 * 60_000)).toBe(steps[0])
  expect(dueStepOf({ machines }, 'w-1', NOW - 40 * 60_000)).toBeNull()
  expect(dueStepOf({ machines }, 'w-2', NOW)).toBeNull()
})

it('a plan never stops a worker against a session, a hold, a person’s use or the protection', () => {
  const ms = fc.integer({ min: -120, max: 120 }).map(minutes => before(minutes))
  const anyWorker = fc.record({
    protected: fc.boolean(),
    wanted_by: fc.subarray(['ls-1']),
    desired_until: fc.option(ms),
  })
  const anyEvidence = fc.record({ last_activity_at: fc.option(ms), running_nodes: fc.nat(1) })
  const anyKind = fc.constantFrom<PlannedStep['kind']>('stop', 'stay', 'wake')
  let stops = 0
  fc.assert(
    fc.property(anyWorker, anyEvidence, anyKind, (worker, evidence, kind) => {
      const { verdict } = decide({ step: stepOf(kind), evidence, worker })
      if (verdict.kind !== 'pause') return
      stops += 1
      expect([worker.protected, worker.wanted_by]).toEqual([false, []])
      expect(worker.desired_until === null || toMs(worker.desired_until) <= NOW).toBe(true)
      const used = evidence.last_activity_at
      const isByHand = evidence.running_nodes > 0 || (used !== null && used > RELEASED)
      if (isByHand) expect(NOW - toMs(used ?? before(5))).toBeGreaterThanOrEqual(3_600_000)
      else expect(kind).toBe('stop')
    }),
    { numRuns: 2000 },
  )
  expect(stops).toBeGreaterThan(20)
})
