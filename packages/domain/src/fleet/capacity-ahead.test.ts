import { aDefinition, aServingWorker, aSession, aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import { type CapacityAhead, capacityWarnings } from './capacity-ahead.ts'
import { SETTING_DEFAULTS } from './settings.ts'

const HOUR = 3_600_000
/** A Monday. */
const NOW = toMs('2026-01-26T08:00:00.000Z')
const at = (hours: number) => toInstant(NOW + hours * HOUR)
/** Ten sessions fill a machine. */
const METAL = aTemplate({
  name: 'metal',
  cost_per_hour_usd: 4,
  license_product: 'CML_Enterprise',
  capacity: { cpu_cores: 40, memory_gb: 1000, storage_gb: 1000, max_nodes: 1000 },
})
const NEEDS = { cpu_cores: 4, memory_gb: 1, storage_gb: 1, node_count: 1 }
const sessions = (count: number, from: number, until: number, more: Partial<LabletSession> = {}): LabletSession[] =>
  Array.from({ length: count }, (_, n) =>
    aSession({
      id: `ls-${from}-${n}`,
      needs: NEEDS,
      timeslot: { start: at(from), end: at(until) },
      ...more,
    }),
  )

const warnings = (booked: readonly LabletSession[], more: Partial<CapacityAhead> = {}) =>
  capacityWarnings({
    sessions: booked,
    definitions: new Map([['ld-1', aDefinition()]]),
    workers: [],
    templates: [METAL],
    settings: { ...SETTING_DEFAULTS, max_workers_per_region: 2 },
    region: 'us-east-1',
    nowMs: NOW,
    spanOf: ({ timeslot }) => ({ fromMs: toMs(timeslot.start) - HOUR / 6, untilMs: toMs(timeslot.end) }),
    ...more,
  })
const codes = (found: ReturnType<typeof warnings>) => found.map(({ reason: { code } }) => code)
const settings = (more: Partial<typeof SETTING_DEFAULTS>) => ({
  settings: { ...SETTING_DEFAULTS, max_workers_per_region: 2, ...more },
})

describe('a limit of workers', () => {
  it('that is high enough is no warning', () => {
    expect(warnings(sessions(20, 24, 26))).toEqual([])
    expect(warnings([])).toEqual([])
  })

  it('that is too low is one, with the first time and the most that is needed', () => {
    const booked = [...sessions(24, 52, 54), ...sessions(45, 76, 78)]
    expect(warnings(booked)).toEqual([
      {
        id: 'workers:us-east-1',
        kind: 'capacity_ahead',
        is_critical: true,
        reason: expect.objectContaining({
          code: 'workers_short_ahead',
          params: { at: '2026-01-28T11:50:00.000Z', needed: 3, limit: 2, sessions: 4 },
        }),
        fix: expect.objectContaining({ code: 'fix_max_workers', params: { workers: 5 } }),
      },
    ])
  })

  it('counts sessions only while they need a worker at the same time', () => {
    expect(warnings([...sessions(20, 24, 26), ...sessions(20, 27, 29)])).toEqual([])
    expect(codes(warnings([...sessions(20, 24, 26), ...sessions(20, 25, 29)]))).toEqual(['workers_short_ahead'])
  })

  it('counts workers that exist, also those that can’t hold the sessions', () => {
    const worker = aServingWorker({ capacity: { ...aServingWorker().capacity, declared: METAL.capacity } })
    const fitting = [1, 2, 3].map(n => ({ ...worker, id: `w-${n}` }))
    expect(warnings(sessions(30, 24, 26), { workers: fitting })).toEqual([])
    const tiny = { ...METAL.capacity, cpu_cores: 1 }
    const small = { ...worker, capacity: { ...worker.capacity, declared: tiny } }
    expect(codes(warnings(sessions(20, 24, 26), { workers: [small] }))).toEqual(['workers_short_ahead'])
    const elsewhere = { ...small, aws_region: 'eu-west-1' }
    expect(warnings(sessions(20, 24, 26), { workers: [elsewhere] })).toEqual([])
  })

  it('says so where scale-up is turned off', () => {
    const [warning] = warnings(sessions(1, 24, 26), settings({ scale_up_enabled: false }))
    expect(warning).toMatchObject({
      reason: { code: 'workers_lacking_ahead', params: { needed: 1, sessions: 1 } },
      fix: { code: 'fix_scale_up_disabled' },
    })
  })

  it('is not compared with sessions in more than two weeks, or that no template holds', () => {
    expect(warnings(sessions(50, 15 * 24, 15 * 24 + 2))).toEqual([])
    expect(warnings(sessions(50, 24, 26, { needs: { ...NEEDS, cpu_cores: 99 } }))).toEqual([])
  })
})

describe('a budget', () => {
  it('that the sessions of a later day exceed even on full machines is a warning', () => {
    // Two full machines for 4 h 10 min.
    const booked = sessions(20, 28, 32)
    expect(codes(warnings(booked, settings({ budget_usd_per_day: 34 })))).toEqual([])
    expect(warnings(booked, settings({ budget_usd_per_day: 33 }))).toMatchObject([
      {
        id: 'budget_ahead:day',
        kind: 'capacity_ahead',
        reason: {
          code: 'budget_short_ahead',
          params: { period: 'day', date: '2026-01-27', limit: 33, needed_usd: 33.33 },
        },
        fix: { code: 'fix_budget', params: { period: 'day' } },
      },
    ])
  })

  it('of a later month is compared too', () => {
    const booked = sessions(10, 6 * 24 + 1, 6 * 24 + 11)
    const [warning] = warnings(booked, settings({ budget_usd_per_month: 30 }))
    expect(warning).toMatchObject({ id: 'budget_ahead:month', reason: { params: { date: '2026-02', limit: 30 } } })
  })
})

it('10,000 sessions in two weeks are judged', () => {
  const booked = Array.from({ length: 50 }, (_, n) => sessions(200, 6 * n, 6 * n + 5)).flat()
  expect(codes(warnings(booked))).toEqual(['workers_short_ahead'])
})
