import { aTemplate } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import type { BudgetLimits, SpendingFacts } from '../fleet/budget.ts'
import { toInstant, toMs } from '../instant.ts'
import { NO_POOLS } from '../license/license-pool.ts'
import type { Demand } from '../session/demand.ts'
import { admit, extensibleUntil, nearestStarts, type Seats } from './admission.ts'
import { capacityOf } from './capacity.ts'
import { type CapacityProfile, emptyProfile, enter } from './capacity-profile.ts'
import { promisedWindows } from './promised-spending.ts'
import { ALWAYS } from './span.ts'

const HOUR_MS = 3_600_000
/** A Tuesday. */
const NOW = toMs('2026-06-02T00:00:00.000Z')
/** Four of them fill a machine. */
const QUARTER: Demand = {
  session_id: null,
  needs: { cpu_cores: 12, memory_gb: 4, storage_gb: 1, node_count: 1 },
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 1,
  span: ALWAYS,
}
const OFF: BudgetLimits = { budget_usd_per_day: 'off', budget_usd_per_month: 'off' }

/** Machines for 4 USD an hour, started half an hour before their first use. */
function profileOf(limits: Partial<BudgetLimits>, more: Partial<SpendingFacts> = {}): CapacityProfile {
  const spending = {
    ...{ limits: { ...OFF, ...limits }, spent: [], untilMs: NOW, committed: [] },
    ...{ diskUsdPerHour: () => 0, wakeMs: () => HOUR_MS / 2 },
    ...more,
  }
  return emptyProfile(
    capacityOf({
      workers: [],
      templates: [aTemplate({ cost_per_hour_usd: 4, license_product: 'CML_Enterprise' })],
      settings: { scale_up_enabled: true, max_workers_per_region: 3 },
      region: 'us-east-1',
      licenses: NO_POOLS,
      nowMs: NOW,
      spending,
    }),
  )
}
const seats = (count: number, from: number, until: number): Seats => ({
  demand: QUARTER,
  span: { fromMs: NOW + from * HOUR_MS, untilMs: NOW + until * HOUR_MS },
  count,
})
/** Enters the seats if they are admitted. */
function book(profile: CapacityProfile, wanted: Seats): 'admitted' | { free: number; code: string } {
  const admission = admit(profile, [wanted])
  if (admission.kind === 'refused') return { free: admission.free, code: admission.because.code }
  for (const [seat, machine] of (admission.machines[0] ?? []).entries())
    enter(profile, {
      ...{ id: `${wanted.span.fromMs} ${seat}`, demand: QUARTER, span: wanted.span, workerId: null },
      ...{ number: profile.uses.size, machine },
    })
  return 'admitted'
}
function starts(profile: CapacityProfile, wanted: Seats): string[] {
  const search = { nowMs: NOW, startMs: wanted.span.fromMs, isAllowed: () => true }
  const steps = nearestStarts(profile, wanted, search)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

describe('a budget of a day', () => {
  it('counts machines from their start to the end of their use, once for all their sessions', () => {
    const profile = profileOf({ budget_usd_per_day: 10 })
    expect(book(profile, seats(4, 10, 12))).toBe('admitted')
    expect(promisedWindows(profile, seats(1, 10, 12).span)).toMatchObject([{ committedUsd: 10, leftUsd: 0 }])
    expect(book(profile, seats(1, 14, 15))).toEqual({ free: 0, code: 'budget_booked' })
  })

  it('that is used up refuses, and the next day works', () => {
    const profile = profileOf({ budget_usd_per_day: 10 })
    book(profile, seats(4, 10, 12))
    const wanted = seats(1, 14, 16)
    expect(admit(profile, [wanted])).toMatchObject({
      because: {
        code: 'budget_booked',
        params: { period: 'day', date: '2026-06-02', limit: 10, spent_usd: 0, committed_usd: 10, needed_usd: 10 },
      },
    })
    const offered = starts(profile, wanted)
    expect(offered).toEqual(['2026-06-03T00:30:00.000Z'])
    const [next] = offered.map(at => (toMs(at) - NOW) / HOUR_MS)
    expect(book(profile, seats(1, next ?? 0, (next ?? 0) + 2))).toBe('admitted')
  })

  it('refuses with how many seats it allows', () => {
    expect(book(profileOf({ budget_usd_per_day: 20 }), seats(9, 10, 12))).toEqual({ free: 8, code: 'budget_booked' })
  })

  it('lets a machine that is awake anyway serve more', () => {
    const profile = profileOf({ budget_usd_per_day: 10 })
    book(profile, seats(2, 10, 12))
    expect(book(profile, seats(2, 10, 12))).toBe('admitted')
  })

  it('counts a pause that is too short for a sleep', () => {
    const profile = profileOf({ budget_usd_per_day: 14 })
    book(profile, seats(1, 10, 11))
    expect(book(profile, seats(1, 11.5, 12.5))).toBe('admitted')
    expect(promisedWindows(profile, seats(1, 10, 11).span)).toMatchObject([{ committedUsd: 12 }])
  })

  it('counts what is spent, and disks until the end of the day', () => {
    const spent = [
      { fromMs: NOW - HOUR_MS, untilMs: NOW, usd: 100 },
      { fromMs: NOW, untilMs: NOW, usd: 3 },
    ]
    const committed = [{ fromMs: NOW, untilMs: Number.POSITIVE_INFINITY, usdPerHour: 0.25 }]
    const profile = profileOf({ budget_usd_per_day: 21 }, { spent, committed, diskUsdPerHour: () => 0.5 })
    expect(book(profile, seats(1, 9.5, 10))).toBe('admitted')
    // 3 spent, 6 of disks that exist, 4 of the machine and 7.50 of its disk.
    expect(promisedWindows(profile, seats(1, 9, 10).span)).toMatchObject([{ spentUsd: 3, committedUsd: 17.5 }])
  })

  it('also limits extensions', () => {
    const profile = profileOf({ budget_usd_per_day: 12 })
    book(profile, seats(1, 10, 12))
    const [id] = [...profile.uses.keys()]
    expect(extensibleUntil(profile, id ?? '', NOW + 14 * HOUR_MS)).toBe(NOW + 12.5 * HOUR_MS)
  })
})

it('the budget of a month that is used up moves the nearest time to the next month', () => {
  const profile = profileOf({ budget_usd_per_month: 10 })
  book(profile, seats(4, 10, 12))
  expect(book(profile, seats(1, 30, 32))).toEqual({ free: 0, code: 'budget_booked' })
  expect(starts(profile, seats(1, 30, 32))).toEqual([toInstant(toMs('2026-07-01T00:30:00.000Z'))])
})

it('without a budget nothing is counted', () => {
  const profile = profileOf({})
  expect(promisedWindows(profile, seats(1, 10, 12).span)).toEqual([])
  expect(book(profile, seats(12, 10, 12))).toBe('admitted')
})
