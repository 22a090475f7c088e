import { aTemplate } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Instant, toMs } from '../instant.ts'
import type { FreeSeats } from '../license/license-pool.ts'
import type { Demand } from '../session/demand.ts'
import { admit, nearestStarts, type Seats } from './admission.ts'
import { capacityOf } from './capacity.ts'
import { type CapacityProfile, emptyProfile, enter } from './capacity-profile.ts'
import { isWithinLimits } from './promised-machine.ts'
import { ALWAYS } from './span.ts'

const QUARTER_MS = 900_000
const HOUR_MS = 4 * QUARTER_MS
const DAY_MS = 24 * HOUR_MS
const NOW = toMs('2026-06-02T00:00:00.000Z')
const WAKE_MS = 2 * QUARTER_MS
const STOP_MS = 300_000

const DEMANDS = [4, 12, 30].flatMap(cpu_cores =>
  [1, 8].map(
    (node_count): Demand => ({
      session_id: null,
      needs: { cpu_cores, memory_gb: 1, storage_gb: 0, node_count },
      node_definitions: [],
      cml_version: { min: null, max: null },
      license_affinity: [],
      ports: 0,
      span: ALWAYS,
    }),
  ),
)
/** By name: USD per hour. Without a seat of the pool a machine runs 5 nodes. */
const PRICES = { small: 1, large: 4 } as const

interface Fleet {
  readonly workersMax: number
  readonly free: number | null
  readonly budget: number | 'off'
}
const fleets: fc.Arbitrary<Fleet> = fc.record({
  workersMax: fc.integer({ min: 1, max: 4 }),
  free: fc.option(fc.nat(3)),
  budget: fc.constantFrom('off' as const, 6, 12, 40),
})

function profileOf({ workersMax, free, budget }: Fleet): CapacityProfile {
  const licenses: FreeSeats = new Map(free === null ? [] : [['CML_Enterprise', free] as const])
  const template = (name: keyof typeof PRICES, cpu_cores: number) =>
    aTemplate({
      name,
      cost_per_hour_usd: PRICES[name],
      license_product: 'CML_Enterprise',
      capacity: { cpu_cores, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
    })
  return emptyProfile(
    capacityOf({
      workers: [],
      templates: [template('small', 12), template('large', 48)],
      settings: { scale_up_enabled: true, max_workers_per_region: workersMax },
      region: 'us-east-1',
      licenses,
      nowMs: NOW,
      spending: {
        ...{
          limits: { budget_usd_per_day: budget, budget_usd_per_month: 'off' },
          spent: [],
          untilMs: NOW,
          committed: [],
        },
        ...{ diskUsdPerHour: () => 0, wakeMs: () => WAKE_MS },
      },
    }),
  )
}

const bookings = fc.array(
  fc
    .record({
      demand: fc.constantFrom(...DEMANDS),
      from: fc.integer({ min: 2, max: 60 }),
      quarters: fc.integer({ min: 1, max: 12 }),
      count: fc.integer({ min: 1, max: 5 }),
    })
    .map(({ demand, from, quarters, count }): Seats => {
      const fromMs = NOW + from * QUARTER_MS
      return { demand, span: { fromMs, untilMs: fromMs + quarters * QUARTER_MS }, count }
    }),
  { maxLength: 12 },
)

function book(profile: CapacityProfile, seats: Seats, number: number): boolean {
  const admission = admit(profile, [seats])
  if (admission.kind === 'refused') return false
  for (const [seat, machine] of (admission.machines[0] ?? []).entries())
    enter(profile, { id: `${number} ${seat}`, ...seats, workerId: null, number, machine })
  return true
}

const moved = (seats: Seats, toStartMs: number): Seats => ({
  ...seats,
  span: { fromMs: toStartMs, untilMs: toStartMs + seats.span.untilMs - seats.span.fromMs },
})
const isAdmitted = (profile: CapacityProfile, seats: Seats): boolean => admit(profile, [seats]).kind === 'admitted'

function offered(profile: CapacityProfile, seats: Seats): Instant[] {
  const search = { nowMs: NOW, startMs: seats.span.fromMs, isAllowed: () => true }
  const steps = nearestStarts(profile, seats, search)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

const placesOf = (profile: CapacityProfile) =>
  Object.fromEntries([...profile.places].map(([id, { offer }]) => [id, offer.key]))

/** What one machine costs on each day, minute by minute: awake while in use, before it to start, and in short pauses. */
function usdByDay(uses: readonly Seats['span'][], usdPerHour: number): Map<number, number> {
  const isUsed = (ms: number) => uses.some(({ fromMs, untilMs }) => fromMs <= ms && ms < untilMs)
  const stepMs = STOP_MS
  const found = new Map<number, number>()
  for (let ms = NOW - DAY_MS; ms < NOW + 3 * DAY_MS; ms += stepMs) {
    const next = Math.min(...uses.map(({ fromMs }) => fromMs).filter(fromMs => fromMs > ms))
    const last = Math.max(...uses.map(({ untilMs }) => untilMs).filter(untilMs => untilMs <= ms))
    const isAwake = isUsed(ms) || next - ms <= WAKE_MS || next - last < WAKE_MS + STOP_MS
    if (!isAwake || ms < NOW) continue
    const day = Math.floor(ms / DAY_MS)
    found.set(day, (found.get(day) ?? 0) + (usdPerHour * stepMs) / HOUR_MS)
  }
  return found
}

/** By day: what all machines cost, each of the cheapest template that holds its promises. */
function spentByDay(profile: CapacityProfile): Map<number, number> {
  const total = new Map<number, number>()
  for (const { uses, peak, offer } of profile.machines.values()) {
    if (uses.size === 0) continue
    const isLarge = [...uses.values()].some(
      ({ span }) =>
        [...uses.values()]
          .filter(each => each.span.fromMs <= span.fromMs && span.fromMs < each.span.untilMs)
          .reduce((sum, { demand }) => sum + demand.needs.cpu_cores, 0) > 12,
    )
    expect(peak === null || offer.choices.length > 0).toBe(true)
    const spans = [...uses.values()].map(({ span }) => span)
    for (const [day, usd] of usdByDay(spans, isLarge ? PRICES.large : PRICES.small))
      total.set(day, (total.get(day) ?? 0) + usd)
  }
  return total
}

it('a later booking takes neither capacity nor budget of an admitted one', () => {
  fc.assert(
    fc.property(fleets, bookings, (fleet, all) => {
      const profile = profileOf(fleet)
      for (const [number, seats] of all.entries()) {
        const before = placesOf(profile)
        const count = profile.uses.size
        const isBooked = book(profile, seats, number)
        expect(profile.uses.size).toBe(count + (isBooked ? seats.count : 0))
        expect(placesOf(profile)).toMatchObject(before)
        expect(profile.unplaced.size).toBe(0)
        for (const machine of profile.machines.values()) expect(isWithinLimits(machine)).toBe(true)
      }
      if (fleet.budget === 'off') return
      for (const usd of spentByDay(profile).values()) expect(usd).toBeLessThanOrEqual(fleet.budget + 1e-6)
    }),
    { numRuns: 200 },
  )
})

it('the times that a refusal offers are admitted, and no nearer quarter hour is', () => {
  let refusals = 0
  fc.assert(
    fc.property(fleets, bookings, (fleet, all) => {
      const profile = profileOf(fleet)
      for (const [number, seats] of all.entries()) {
        if (book(profile, seats, number)) continue
        const startMs = seats.span.fromMs
        for (const at of offered(profile, seats).map(toMs)) {
          refusals += 1
          expect(isAdmitted(profile, moved(seats, at))).toBe(true)
          const stepMs = at > startMs ? -QUARTER_MS : QUARTER_MS
          for (let ms = at + stepMs; (ms - startMs) * stepMs < 0; ms += stepMs)
            expect(isAdmitted(profile, moved(seats, ms))).toBe(false)
        }
      }
    }),
    { numRuns: 200 },
  )
  expect(refusals).toBeGreaterThan(20)
})
