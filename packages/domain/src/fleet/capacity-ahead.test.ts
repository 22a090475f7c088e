import { aServingWorker, aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { admit } from '../calendar/admission.ts'
import { type CapacityFacts, capacityOf } from '../calendar/capacity.ts'
import { type CapacityProfile, emptyProfile, enter, isPossible } from '../calendar/capacity-profile.ts'
import type { Use } from '../calendar/promised-machine.ts'
import { ALWAYS } from '../calendar/span.ts'
import { toMs } from '../instant.ts'
import { NO_POOLS } from '../license/license-pool.ts'
import type { Demand } from '../session/demand.ts'
import type { WorkerTemplate } from '../template/worker-template.ts'
import type { BudgetLimits } from './budget.ts'
import { capacityWarnings } from './capacity-ahead.ts'
import type { FleetWarning } from './fleet-warning.ts'

const HOUR = 3_600_000
/** A Monday. */
const NOW = toMs('2026-01-26T08:00:00.000Z')
const OFF: BudgetLimits = { budget_usd_per_day: 'off', budget_usd_per_month: 'off' }

const demandFor = (cpu_cores: number): Demand => ({
  session_id: null,
  needs: { cpu_cores, memory_gb: 1, storage_gb: 1, node_count: 1 },
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 0,
  span: ALWAYS,
})
/** Ten of them fill a machine. */
const TENTH = demandFor(4)

const sized = (name: string, cpu_cores: number, cost_per_hour_usd: number): WorkerTemplate =>
  aTemplate({
    name,
    cost_per_hour_usd,
    license_product: 'CML_Enterprise',
    capacity: { cpu_cores, memory_gb: 1000, storage_gb: 1000, max_nodes: 1000 },
  })
const METAL = sized('metal', 40, 4)

interface Fleet extends Partial<Pick<CapacityFacts, 'workers' | 'templates' | 'licenses'>> {
  readonly workersMax?: number
  readonly isScaleUpOn?: boolean
  readonly limits?: Partial<BudgetLimits>
}
const capacity = ({ workersMax = 2, isScaleUpOn = true, limits, ...more }: Fleet) =>
  capacityOf({
    ...{ workers: [], templates: [METAL], licenses: NO_POOLS, region: 'us-east-1', nowMs: NOW },
    settings: { scale_up_enabled: isScaleUpOn, max_workers_per_region: workersMax },
    spending: {
      ...{ limits: { ...OFF, ...limits }, spent: [], untilMs: NOW, committed: [] },
      ...{ diskUsdPerHour: () => 0, wakeMs: () => 0 },
    },
    ...more,
  })

const uses = (count: number, from: number, until: number, demand = TENTH): Use[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `ls-${from}-${until}-${n}`, demand, workerId: null, number: null, machine: null },
    span: { fromMs: NOW + from * HOUR, untilMs: NOW + until * HOUR },
  }))

function ended<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** With sessions that were promised capacity, and sessions without. */
function warnings(bestEffort: readonly Use[], fleet: Fleet = {}, promised: readonly Use[] = []): FleetWarning[] {
  const profile = emptyProfile(capacity(fleet))
  for (const [number, use] of promised.entries()) enter(profile, { ...use, number })
  const unlimited = capacity({ ...fleet, workersMax: 1000, isScaleUpOn: true, limits: {} })
  const present = (fleet.workers ?? []).filter(({ aws_region }) => aws_region === 'us-east-1').length
  return ended(capacityWarnings({ profile, bestEffort, unlimited, present, nowMs: NOW }))
}
const codes = (found: readonly FleetWarning[]) => found.map(({ reason: { code } }) => code)

describe('a limit of workers', () => {
  it('that is high enough is no warning', () => {
    expect(warnings(uses(20, 24, 26))).toEqual([])
    expect(warnings([], {}, uses(20, 24, 26))).toEqual([])
    expect(warnings([])).toEqual([])
  })

  it('that is too low is one, with the first time and the most that is needed', () => {
    expect(warnings([...uses(24, 52, 54), ...uses(45, 76, 78)])).toEqual([
      {
        id: 'workers:us-east-1',
        kind: 'capacity_ahead',
        is_critical: true,
        reason: expect.objectContaining({
          code: 'workers_short_ahead',
          params: { at: '2026-01-28T12:00:00.000Z', needed: 3, limit: 2, sessions: 4 },
        }),
        fix: expect.objectContaining({ code: 'fix_max_workers', params: { workers: 5 } }),
      },
    ])
  })

  it('leaves to others what promises leave', () => {
    expect(codes(warnings(uses(5, 24, 26), {}, uses(15, 24, 27)))).toEqual([])
    expect(warnings(uses(6, 24, 26), {}, uses(15, 24, 27))).toMatchObject([{ reason: { params: { sessions: 1 } } }])
  })

  it('counts on larger machines, as admission does', () => {
    const templates = [sized('small', 4, 1), METAL]
    expect(warnings(uses(20, 24, 26), { templates })).toEqual([])
    expect(warnings(uses(21, 24, 26), { templates })).toMatchObject([
      { reason: { params: { needed: 3, limit: 2, sessions: 1 } } },
    ])
  })

  it('counts sessions only while they need a worker at the same time', () => {
    expect(warnings([...uses(20, 24, 26), ...uses(20, 27, 29)])).toEqual([])
    expect(codes(warnings([...uses(20, 24, 26), ...uses(20, 25, 29)]))).toEqual(['workers_short_ahead'])
  })

  it('counts workers that exist, also those that can’t hold the sessions', () => {
    const worker = aServingWorker({ capacity: { ...aServingWorker().capacity, declared: METAL.capacity } })
    const fitting = [1, 2, 3].map(n => ({ ...worker, id: `w-${n}` }))
    expect(warnings(uses(30, 24, 26), { workers: fitting })).toEqual([])
    const small = { ...worker, capacity: { ...worker.capacity, declared: { ...METAL.capacity, cpu_cores: 1 } } }
    expect(codes(warnings(uses(20, 24, 26), { workers: [small] }))).toEqual(['workers_short_ahead'])
  })

  it('says so where scale-up is turned off', () => {
    expect(warnings(uses(1, 24, 26), { isScaleUpOn: false })).toMatchObject([
      {
        reason: { code: 'workers_lacking_ahead', params: { needed: 1, sessions: 1 } },
        fix: { code: 'fix_scale_up_disabled' },
      },
    ])
  })

  it('is not compared with sessions in more than two weeks, that no template holds, or that lack a license', () => {
    expect(warnings(uses(50, 15 * 24, 15 * 24 + 2))).toEqual([])
    expect(warnings(uses(50, 24, 26, demandFor(99)))).toEqual([])
    const many = { ...TENTH, needs: { ...TENTH.needs, node_count: 30 } }
    expect(warnings(uses(2, 24, 26, many), { licenses: new Map([['CML_Enterprise', 0]]) })).toEqual([])
  })
})

describe('a budget', () => {
  it('that promises need most of is a warning', () => {
    // Two machines for 4 hours.
    const booked = uses(20, 28, 32)
    expect(warnings([], { limits: { budget_usd_per_day: 41 } }, booked)).toEqual([])
    expect(warnings([], { limits: { budget_usd_per_day: 40 } }, booked)).toMatchObject([
      {
        id: 'budget_ahead:day',
        kind: 'capacity_ahead',
        is_critical: false,
        reason: {
          code: 'budget_short_ahead',
          params: { period: 'day', date: '2026-01-27', limit: 40, needed_usd: 32 },
        },
        fix: { code: 'fix_budget', params: { period: 'day' } },
      },
    ])
  })

  it('that does not allow what is booked without a promise is critical', () => {
    const found = warnings(uses(5, 34, 36), { limits: { budget_usd_per_day: 19 } }, uses(10, 28, 31))
    expect(found).toMatchObject([{ is_critical: true, reason: { params: { date: '2026-01-27', needed_usd: 20 } } }])
  })

  it('of this month and a later month is compared too', () => {
    const limits = { budget_usd_per_month: 48 }
    const [warning] = warnings([], { limits }, uses(10, 6 * 24 + 1, 6 * 24 + 11))
    expect(warning).toMatchObject({ id: 'budget_ahead:month', reason: { params: { date: '2026-02', limit: 48 } } })
    const [now] = warnings([], { limits }, uses(10, 26, 36))
    expect(now).toMatchObject({ id: 'budget_ahead:month', reason: { params: { date: '2026-01' } } })
  })
})

it('a session waits by the warning exactly if it would not be admitted', () => {
  const templates = [sized('small', 8, 1), METAL]
  for (let count = 15; count < 25; count += 1) {
    const profile: CapacityProfile = emptyProfile(capacity({ templates }))
    const admitted = admit(profile, [{ demand: TENTH, span: uses(1, 24, 26)[0]?.span ?? ALWAYS, count }])
    expect(isPossible(profile, TENTH)).toBe(true)
    expect(warnings(uses(count, 24, 26), { templates }).length === 0).toBe(admitted.kind === 'admitted')
  }
})

it('10,000 sessions in two weeks are judged', () => {
  const booked = Array.from({ length: 50 }, (_, n) => uses(200, 6 * n, 6 * n + 5)).flat()
  expect(codes(warnings(booked))).toEqual(['workers_short_ahead'])
})
