import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BEST_EFFORT } from '../calendar/session-admission.ts'
import { SETTING_DEFAULTS, type SettingValues } from '../fleet/settings.ts'
import { toInstant, toMs } from '../instant.ts'
import { WorkerTemplate } from '../template/worker-template.ts'
import { blankWorker, type Worker } from '../worker/worker.ts'
import type { CalendarSession, FleetCalendar } from './fleet-calendar.ts'
import { type Forecast, forecastOf } from './forecast.ts'
import { parseVariant, withVariant } from './variant.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NOW = '2026-01-05T06:00:00.000Z'
const at = (hours: number) => toInstant(toMs(NOW) + hours * HOUR_MS)

const CAPACITY = { cpu_cores: 48, memory_gb: 184, storage_gb: 1000, max_nodes: 500 }
const template = (name: string, usd: number, cpu_cores = 48) =>
  WorkerTemplate.parse({
    id: `wt-${name}`,
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    name,
    instance_types: ['m5zn.metal'],
    ami_name_pattern: 'cml-*',
    ami_owner: 'self',
    capacity: { ...CAPACITY, cpu_cores },
    cost_per_hour_usd: usd,
  })

const definition = (name: string, cpu_cores: number): FleetCalendar['definitions'][number] => ({
  id: name,
  name,
  needs: { cpu_cores, memory_gb: cpu_cores, storage_gb: 5, node_count: 0 },
  node_definitions_required: ['iol-xe'],
  cml_version: { min: null, max: null },
  license_affinity: [],
  port_template: [],
  boot_lead_minutes: 5,
})
const DEFINITIONS = [definition('small', 4), definition('large', 12), definition('huge', 100)]

/** Times in hours from now. */
interface Booking {
  readonly kind: string
  readonly from: number
  readonly hours: number
}

const session = (n: number, { kind, from, hours }: Booking, more: Partial<CalendarSession> = {}): CalendarSession => ({
  id: `ls-${String(n).padStart(4, '0')}`,
  created_at: NOW,
  definition: { id: kind, name: kind, version: '1.0.0' },
  needs: DEFINITIONS.find(({ id }) => id === kind)?.needs ?? {
    cpu_cores: 1,
    memory_gb: 1,
    storage_gb: 1,
    node_count: 1,
  },
  timeslot: { start: at(from), end: at(from + hours) },
  desired_status: 'RUNNING',
  status: 'PENDING',
  entered_status_at: NOW,
  worker_id: null,
  admission: { kind: 'admitted', at_risk: null, number: n, span: null, machine: null },
  state_history: [],
  ...more,
})
const sessions = (count: number, kind: string, from: number, hours: number) =>
  Array.from({ length: count }, (_, n) => session(n, { kind, from, hours }))

const calendar = (booked: readonly CalendarSession[], more: Partial<FleetCalendar> = {}): FleetCalendar => ({
  at: NOW,
  until: at(31 * 24),
  region: 'us-east-1',
  sessions: [...booked],
  definitions: DEFINITIONS,
  workers: [],
  templates: [template('metal', 4)],
  settings: { ...SETTING_DEFAULTS },
  timings: [],
  licenses: [],
  spent_by_day: [],
  disk_usd_per_gb_month: 0.08,
  ...more,
})
const withSettings = (booked: readonly CalendarSession[], settings: Partial<SettingValues>) =>
  calendar(booked, { settings: { ...SETTING_DEFAULTS, ...settings } })
const aWorkerNow = (more: Partial<Worker>): Worker => ({
  ...blankWorker('w-1', NOW),
  name: 'metal-1',
  template_name: 'metal',
  aws_region: 'us-east-1',
  desired_status: 'RUNNING',
  cost_per_hour_usd: 4,
  capacity: { declared: CAPACITY, reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 } },
  ...more,
})
const machineUsd = ({ totals }: Forecast) => totals.usd - totals.by_cause.disk

describe('the forecast of a class', () => {
  // 8 x 12 cores: two machines, bought 25 minutes before the first lab.
  const class8 = sessions(8, 'large', 24, 2)

  it('is its machines, from their purchase until they are stopped', () => {
    const {
      sessions: count,
      sessions_peak,
      machines_peak,
      totals,
      late,
      after_boot,
      unplaced,
    } = forecastOf(calendar(class8), 7)
    expect({ count, peak: sessions_peak?.sessions, machines: machines_peak?.machines }).toEqual({
      count: 8,
      peak: 8,
      machines: 2,
    })
    expect(totals).toMatchObject({ boots: 2, machines: 2 })
    // 25 min to boot, 5 min lead, 2 h, 2 min teardown.
    expect(totals.hours).toBeCloseTo((2 * (25 + 5 + 120 + 2)) / 60)
    expect(totals.by_cause).toMatchObject({
      boot: expect.closeTo((2 * 4 * 13) / 60),
      session: expect.closeTo((2 * 4 * 127) / 60),
    })
    expect({ late, after_boot, unplaced }).toEqual({ late: [], after_boot: 8, unplaced: [] })
  })

  it('needs more machines where licenses allow few nodes, and so does the least possible', () => {
    const nodes = class8.map(each => ({ ...each, needs: { ...each.needs, node_count: 2 } }))
    const { machines_peak, least } = forecastOf(calendar(nodes), 7)
    expect([machines_peak?.machines, least?.bound.machines]).toEqual([4, 4])
  })

  it('is compared with the least possible', () => {
    const forecast = forecastOf(calendar(class8), 7)
    expect(forecast.least).toMatchObject({ template_names: ['metal'], labs: 8, bound: { boots: 2, machines: 2 } })
    expect(machineUsd(forecast)).toBeGreaterThan(forecast.least?.feasible.usd ?? Number.POSITIVE_INFINITY)
  })

  it('names a session that begins before a machine can have booted', () => {
    const { late, after_boot } = forecastOf(calendar([session(1, { kind: 'small', from: 0, hours: 1 })]), 1)
    expect(late).toEqual([{ session_id: 'ls-0001', by_ms: expect.any(Number) }])
    expect(late[0]?.by_ms).toBeCloseTo(13 * MINUTE_MS, -3)
    expect(after_boot).toBe(0)
  })

  it('leaves out what begins later, and sessions that are over', () => {
    const booked = [
      session(1, { kind: 'small', from: 200, hours: 1 }),
      session(2, { kind: 'small', from: 2, hours: 1 }, { desired_status: 'TERMINATED' }),
    ]
    const { sessions: count, totals, least } = forecastOf(calendar(booked), 7)
    expect({ count, hours: totals.hours, least }).toEqual({ count: 0, hours: 0, least: null })
  })

  it('goes on with a worker that has sessions now', () => {
    const needs = { cpu_cores: 4, memory_gb: 4, storage_gb: 5, nodes: 0 }
    const worker = aWorkerNow({
      status: 'RUNNING',
      service_status: 'AVAILABLE',
      capacity: { declared: CAPACITY, reserved: needs },
      reservations: { 'ls-0001': { ...needs, since: NOW, from: NOW, until: at(2 + 2 / 60), started_at: NOW } },
      billing: { since: NOW, cause: 'session', closed_usd: 0 },
    })
    const running = session(1, { kind: 'small', from: -1, hours: 3 }, { status: 'RUNNING', worker_id: 'w-1' })
    const { totals, machines, late, least } = forecastOf(calendar([running], { workers: [worker] }), 7)
    expect(totals).toMatchObject({ boots: 0, machines: 1, hours: expect.closeTo(2 + 2 / 60) })
    expect(machines[0]).toMatchObject({ name: 'metal-1', sessions: [{ session_id: 'ls-0001' }] })
    expect(late).toEqual([])
    expect(least).toMatchObject({ bound: { boots: 0, hours: expect.closeTo(2 + 2 / 60) } })
  })

  it('counts a worker that was just created, though nothing is booked on it', () => {
    const { totals, least } = forecastOf(calendar([], { workers: [aWorkerNow({ status: 'PENDING' })] }), 7)
    // It boots for 13 minutes, and is stopped after the idle timeout, because people created it.
    expect(totals).toMatchObject({ boots: 1, machines: 1, hours: expect.closeTo(73 / 60) })
    expect(totals.by_cause).toMatchObject({ boot: expect.closeTo((4 * 13) / 60), idle: expect.closeTo(4) })
    expect(least).toBeNull()
  })
})

describe('shortages', () => {
  it('say how many workers are needed when, and how many sessions would wait', () => {
    const booked = [...sessions(12, 'large', 30, 2), session(99, { kind: 'small', from: 50, hours: 1 })]
    const { shortages, unplaced } = forecastOf(withSettings(booked, { max_workers_per_region: 1 }), 7)
    expect(unplaced).toHaveLength(8)
    expect(shortages).toMatchObject([{ workers_needed: 3 }])
    expect(shortages[0]?.session_ids).toHaveLength(8)
    expect(toInstant(shortages[0]?.fromMs ?? 0)).toBe(at(30 - 5 / 60))
  })

  it('leave out sessions without a promise first, also those that were booked earlier', () => {
    const [first, ...others] = sessions(5, 'large', 30, 2)
    const booked = [...(first === undefined ? [] : [{ ...first, admission: BEST_EFFORT }]), ...others]
    const { unplaced } = forecastOf(withSettings(booked, { max_workers_per_region: 1 }), 7)
    expect(unplaced.map(({ session_id }) => session_id)).toEqual(['ls-0000'])
  })

  it('name the license that lacks seats', () => {
    const templates = [{ ...template('metal', 4), license_product: 'CML_Enterprise' }]
    const licenses = [{ product: 'CML_Enterprise', free: 1 }]
    const { shortages } = forecastOf(calendar(sessions(8, 'large', 30, 2), { templates, licenses }), 7)
    expect(shortages).toMatchObject([{ because: { code: 'plan_no_license_free' }, workers_needed: 2 }])
    expect(shortages[0]?.session_ids).toHaveLength(4)
  })

  it('name the budget that does not cover their machines', () => {
    const booked = sessions(4, 'large', 10, 2)
    const day = withSettings(booked, { budget_usd_per_day: 30 })
    expect(forecastOf(day, 7).unplaced).toEqual([])
    const spent_by_day = [{ day: NOW.slice(0, 10), spent_usd: 25 }]
    const { shortages } = forecastOf({ ...day, spent_by_day }, 7)
    expect(shortages).toMatchObject([{ because: { code: 'plan_budget_reached' }, workers_needed: 1 }])
  })

  it('need no workers that would not help', () => {
    const { shortages } = forecastOf(calendar([session(1, { kind: 'huge', from: 30, hours: 2 })]), 7)
    expect(shortages).toMatchObject([{ session_ids: ['ls-0001'], workers_needed: null }])
  })
})

describe('variants', () => {
  const twoClasses = [
    ...sessions(4, 'large', 24, 2),
    ...sessions(4, 'large', 26.5, 2).map((each, n) => ({ ...each, id: `ls-b${n}` })),
  ]
  const forecast = (variant: string, more: Partial<FleetCalendar> = {}) => {
    const parsed = parseVariant(variant, ['metal', 'nested'])
    if ('problem' in parsed) throw new Error(parsed.problem)
    return forecastOf(withVariant(calendar(twoClasses, more), parsed.variant), 7)
  }

  it('are computed the same way with other settings', () => {
    const asSet = machineUsd(forecastOf(calendar(twoClasses), 7))
    const byTimeout = machineUsd(forecast('idle_action=pause'))
    expect(byTimeout).toBeGreaterThan(asSet)
    expect(machineUsd(forecast('idle_action=pause,idle_timeout_seconds=0'))).toBeLessThan(byTimeout)
    expect(machineUsd(forecast('idle_action=none'))).toBeGreaterThan(asSet * 5)
    expect(machineUsd(forecast('min_workers=1'))).toBeGreaterThan(asSet * 5)
  })

  it('buy only the named template, also one that is disabled', () => {
    const templates = [template('metal', 4), { ...template('nested', 2), enabled: false }]
    expect(forecast('template=metal', { templates }).machines.map(({ template_name }) => template_name)).toEqual([
      'metal',
    ])
    const nested = forecast('template=nested', { templates })
    expect(new Set(nested.machines.map(({ template_name }) => template_name))).toEqual(new Set(['nested']))
    expect(machineUsd(nested)).toBeLessThan(machineUsd(forecast('template=metal', { templates })))
  })
})

describe('any calendar', () => {
  const aSession = fc
    .tuple(fc.constantFrom('small', 'large'), fc.integer({ min: 2, max: 60 }), fc.integer({ min: 1, max: 6 }))
    .map(([kind, from, length]) => ({ kind, from, hours: length / 2 }))
  const someSessions = fc.array(aSession, { minLength: 1, maxLength: 40 })
  const build = (drawn: readonly { kind: string; from: number; hours: number }[]) =>
    drawn.map(({ kind, from, hours }, n) => session(n, { kind, from, hours }))

  it('costs at least the lower bound, and the bound of more sessions is never less', () => {
    fc.assert(
      fc.property(someSessions, aSession, (drawn, more) => {
        const forecast = forecastOf(calendar(build(drawn)), 7)
        expect(machineUsd(forecast)).toBeGreaterThanOrEqual((forecast.least?.bound.usd ?? 0) - 1e-6)
        const larger = forecastOf(calendar(build([...drawn, more])), 7)
        expect(larger.least?.bound.usd).toBeGreaterThanOrEqual((forecast.least?.bound.usd ?? 0) - 1e-6)
        expect(machineUsd(larger)).toBeGreaterThanOrEqual((forecast.least?.bound.usd ?? 0) - 1e-6)
      }),
      { numRuns: 60 },
    )
  })

  it('has every session on one machine that is awake for it, or says why not', () => {
    fc.assert(
      fc.property(someSessions, fc.integer({ min: 0, max: 4 }), (drawn, max) => {
        const booked = build(drawn)
        const forecast = forecastOf(withSettings(booked, { max_workers_per_region: max }), 7)
        const held = forecast.machines.flatMap(({ sessions: on }) => on.map(({ session_id }) => session_id))
        const left = forecast.unplaced.map(({ session_id }) => session_id)
        expect([...held, ...left].sort()).toEqual(booked.map(({ id }) => id).sort())
        expect(forecast.shortages.flatMap(({ session_ids }) => session_ids).sort()).toEqual(left.sort())
        for (const { sessions: on, awake } of forecast.machines)
          for (const span of on)
            expect(awake.some(time => time.fromMs <= span.fromMs && time.untilMs >= span.untilMs)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it('is computed within seconds for a week of 1,000 sessions', () => {
    const week = Array.from({ length: 1000 }, (_, n) =>
      session(n, { kind: n % 3 === 0 ? 'large' : 'small', from: 24 * (n % 7) + 3 + ((n * 7) % 10), hours: 2 }),
    )
    const { sessions: count, unplaced } = forecastOf(withSettings(week, { max_workers_per_region: 500 }), 7)
    expect({ count, unplaced }).toEqual({ count: 1000, unplaced: [] })
  }, 10_000)
})
