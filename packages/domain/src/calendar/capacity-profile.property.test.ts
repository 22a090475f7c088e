import { aServingWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { NO_POOLS } from '../license/license-pool.ts'
import type { Demand } from '../session/demand.ts'
import { admit } from './admission.ts'
import { capacityOf } from './capacity.ts'
import { type CapacityProfile, changeCapacity, emptyProfile, enter, leave, settle } from './capacity-profile.ts'
import { peakOver } from './machine-calendar.ts'
import { isWithinLimits, type Use } from './promised-machine.ts'
import { ALWAYS } from './span.ts'

const CORES = 12
const HOUR_MS = 3_600_000
const NOW = toMs('2026-11-24T00:00:00.000Z')

const DEMANDS = [2, 4, 6, 8].map(
  (cpu_cores): Demand => ({
    session_id: null,
    needs: { cpu_cores, memory_gb: 1, storage_gb: 0, node_count: 1 },
    node_definitions: [],
    cml_version: { min: null, max: null },
    license_affinity: [],
    ports: 0,
    span: ALWAYS,
  }),
)

const capacity = (workers: number) =>
  capacityOf({
    workers: Array.from({ length: workers }, (_, n) =>
      aServingWorker({
        id: `w-${n + 1}`,
        capacity: {
          declared: { cpu_cores: CORES, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
          reserved: { cpu_cores: 0, memory_gb: 0, storage_gb: 0, nodes: 0 },
        },
      }),
    ),
    templates: [],
    settings: { scale_up_enabled: false, max_workers_per_region: 0 },
    region: 'us-east-1',
    licenses: NO_POOLS,
    nowMs: NOW,
    spending: null,
  })

interface Booking {
  readonly demand: Demand
  readonly from: number
  readonly hours: number
  readonly seats: number
}
const booking = fc.record({
  demand: fc.constantFrom(...DEMANDS),
  from: fc.nat(8),
  hours: fc.integer({ min: 1, max: 4 }),
  seats: fc.integer({ min: 1, max: 3 }),
})
type Act =
  | { readonly kind: 'book'; readonly booking: Booking }
  | { readonly kind: 'cancel' | 'assign'; readonly nth: number }
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: booking.map(each => ({ kind: 'book', booking: each }) as const) },
  { weight: 2, arbitrary: fc.nat(30).map(nth => ({ kind: 'cancel', nth }) as const) },
  { weight: 1, arbitrary: fc.nat(30).map(nth => ({ kind: 'assign', nth }) as const) },
)

const spanOf = ({ from, hours }: Booking) => ({ fromMs: NOW + from * HOUR_MS, untilMs: NOW + (from + hours) * HOUR_MS })

/** Books the seats if they are admitted; the uses that it entered. */
function book(profile: CapacityProfile, each: Booking, number: number): Use[] {
  const span = spanOf(each)
  const admission = admit(profile, [{ demand: each.demand, span, count: each.seats }])
  if (admission.kind === 'refused') return []
  const uses = (admission.machines[0] ?? []).map(
    (machine, seat): Use => ({ id: `s-${number}-${seat}`, demand: each.demand, span, workerId: null, number, machine }),
  )
  for (const use of uses) enter(profile, use)
  return uses
}

const placesOf = (profile: CapacityProfile) =>
  Object.fromEntries([...profile.places].map(([id, { offer }]) => [id, offer.key]).toSorted())
const settled = (profile: CapacityProfile) => {
  for (const _ of settle(profile));
}

/** Whether any assignment of sessions to machines holds them all. */
function canBePacked(uses: readonly Use[], machines: number): boolean {
  const taken: Use[][] = Array.from({ length: machines }, () => [])
  const place = (n: number): boolean => {
    const use = uses[n]
    if (use === undefined) return true
    return taken.some(others => {
      if (!holds([...others, use])) return false
      others.push(use)
      if (place(n + 1)) return true
      others.pop()
      return false
    })
  }
  return place(0)
}
const holds = (uses: readonly Use[]): boolean =>
  uses.every(({ span: { fromMs } }) => {
    const then = uses.filter(({ span }) => span.fromMs <= fromMs && fromMs < span.untilMs)
    return then.reduce((sum, { demand }) => sum + demand.needs.cpu_cores, 0) <= CORES
  })

describe('admission', () => {
  it('admits only what can be packed, and what can never be packed is refused', () => {
    fc.assert(
      fc.property(fc.array(booking, { maxLength: 6 }), fc.integer({ min: 1, max: 3 }), (bookings, workers) => {
        const profile = emptyProfile(capacity(workers))
        const admitted: Use[] = []
        for (const [number, each] of bookings.entries()) {
          const asked = Array.from(
            { length: each.seats },
            (_, seat): Use => ({
              id: `${number}-${seat}`,
              demand: each.demand,
              span: spanOf(each),
              workerId: null,
              number,
              machine: null,
            }),
          )
          const uses = book(profile, each, number)
          if (uses.length > 0) admitted.push(...uses)
          else if (admitted.length === 0) expect(canBePacked(asked, workers)).toBe(false)
          expect(canBePacked(admitted, workers)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('leaves everything admitted where it is', () => {
    fc.assert(
      fc.property(fc.array(booking, { maxLength: 12 }), bookings => {
        const profile = emptyProfile(capacity(3))
        for (const [number, each] of bookings.entries()) {
          const before = placesOf(profile)
          book(profile, each, number)
          expect(placesOf(profile)).toMatchObject(before)
          expect(profile.unplaced.size).toBe(0)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('follows changes as a profile that is built from them all', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 30 }), acts => {
        const profile = emptyProfile(capacity(3))
        for (const [number, each] of acts.entries()) {
          if (each.kind === 'book') {
            book(profile, each.booking, number)
            continue
          }
          const open = [...profile.uses.values()].filter(({ workerId }) => workerId === null)
          const chosen = open[each.nth % Math.max(1, open.length)]
          if (chosen === undefined) continue
          if (each.kind === 'cancel') leave(profile, chosen.id)
          else enter(profile, { ...chosen, workerId: profile.places.get(chosen.id)?.offer.key ?? null })
          settled(profile)
        }
        expect(profile.unplaced.size).toBe(0)
        for (const machine of profile.machines.values()) expect(isWithinLimits(machine)).toBe(true)
        const rebuilt = emptyProfile(capacity(3))
        for (const use of [...profile.uses.values()].toSorted((a, b) => (a.number ?? 0) - (b.number ?? 0)))
          enter(rebuilt, use)
        settled(rebuilt)
        expect(placesOf(rebuilt)).toEqual(placesOf(profile))
        expect(usageOf(rebuilt)).toEqual(usageOf(profile))
      }),
      { numRuns: 300 },
    )
  })

  it('loses no promise while machines leave and come back', () => {
    fc.assert(
      fc.property(
        fc.array(booking, { maxLength: 10 }),
        fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 6 }),
        (bookings, sizes) => {
          const profile = emptyProfile(capacity(4))
          for (const [number, each] of bookings.entries()) book(profile, each, number)
          const ids = [...profile.uses.keys()].toSorted()
          for (const size of [...sizes, 4]) {
            for (const _ of changeCapacity(profile, capacity(size)));
            settled(profile)
            for (const machine of profile.machines.values()) expect(isWithinLimits(machine)).toBe(true)
            expect([...profile.places.keys(), ...profile.unplaced.keys()].toSorted()).toEqual(ids)
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** What each machine has in use in each hour. */
const usageOf = (profile: CapacityProfile) =>
  [...profile.machines.values()].map(({ calendar }) =>
    Array.from({ length: 13 }, (_, hour) => {
      const fromMs = NOW + hour * HOUR_MS
      return peakOver(calendar, { fromMs, untilMs: fromMs + HOUR_MS })
    }),
  )
