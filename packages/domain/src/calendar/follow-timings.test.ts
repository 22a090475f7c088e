import { aServingWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { NO_POOLS } from '../license/license-pool.ts'
import type { Demand } from '../session/demand.ts'
import { capacityOf } from './capacity.ts'
import { type CapacityProfile, emptyProfile, enter } from './capacity-profile.ts'
import { type FollowedTimings, followedSpan, followTimings } from './follow-timings.ts'
import { isWithinLimits } from './promised-machine.ts'
import { ALWAYS, type Span } from './span.ts'

const MINUTE_MS = 60_000
const NOW = toMs('2026-11-24T08:00:00.000Z')
const HALF: Demand = {
  session_id: null,
  needs: { cpu_cores: 24, memory_gb: 4, storage_gb: 1, node_count: 1 },
  node_definitions: [],
  cml_version: { min: null, max: null },
  license_affinity: [],
  ports: 1,
  span: ALWAYS,
}
/** In minutes from now. */
const between = (from: number, until: number): Span => ({
  fromMs: NOW + from * MINUTE_MS,
  untilMs: NOW + until * MINUTE_MS,
})

/** Workers that hold two sessions each. */
function profileOf(workers: number, uses: Readonly<Record<string, Span>>): CapacityProfile {
  const profile = emptyProfile(
    capacityOf({
      workers: Array.from({ length: workers }, (_, n) =>
        aServingWorker({
          id: `w-${n + 1}`,
          capacity: {
            declared: { cpu_cores: 48, memory_gb: 192, storage_gb: 200, max_nodes: 200 },
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
    }),
  )
  for (const [number, [id, span]] of Object.entries(uses).entries())
    enter(profile, { id, demand: HALF, span, workerId: null, number, machine: null })
  return profile
}

function follow(profile: CapacityProfile, wanted: Readonly<Record<string, Span>>): FollowedTimings {
  const steps = followTimings(profile, new Map(Object.entries(wanted)))
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
const spanIn = (profile: CapacityProfile, id: string) => profile.uses.get(id)?.span

describe('the span of a promise', () => {
  it('follows longer leads and removals from a minute on, and shorter ones from five', () => {
    const promised = between(60, 120)
    expect(followedSpan(promised, between(59.5, 120.5), NOW)).toBeNull()
    expect(followedSpan(promised, between(52, 123), NOW)).toEqual(between(52, 123))
    expect(followedSpan(promised, between(64, 116), NOW)).toBeNull()
    expect(followedSpan(promised, between(66, 122), NOW)).toEqual(between(66, 122))
  })

  it('does not reach into the past, and stays once it has begun', () => {
    expect(followedSpan(between(5, 60), between(-10, 60), NOW)).toEqual(between(0, 60))
    expect(followedSpan(between(0, 60), between(-10, 70), NOW)).toBeNull()
  })
})

describe('promises', () => {
  it('get more time where it is free, on their machine or another', () => {
    const profile = profileOf(2, { a: between(0, 60), b: between(0, 60), c: between(60, 120) })
    expect(profile.places.get('c')?.offer.key).toBe('w-1')
    const { changed, short } = follow(profile, { c: between(50, 120) })
    expect(changed).toEqual([{ id: 'c', ...between(50, 120), machine: 'w-2' }])
    expect([short.size, spanIn(profile, 'c')]).toEqual([0, between(50, 120)])
  })

  it('keep what they have where it is not, and say what is short', () => {
    const profile = profileOf(1, { a: between(0, 60), b: between(0, 60), c: between(60, 120) })
    const { changed, short } = follow(profile, { c: between(50, 120) })
    expect(changed).toEqual([])
    expect(short.get('c')).toMatchObject({
      code: 'lab_takes_longer',
      params: { minutes: 10, cause: { code: 'capacity_booked_no_scale_up' } },
    })
    expect([spanIn(profile, 'c'), profile.places.get('c')?.offer.key]).toEqual([between(60, 120), 'w-1'])
  })

  it('give time back, which later ones may use', () => {
    const profile = profileOf(1, { a: between(0, 70), b: between(0, 70), c: between(70, 120) })
    const { changed } = follow(profile, { a: between(0, 60), b: between(0, 60), c: between(62, 120) })
    expect(changed.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  })

  it('never take the capacity of another one', () => {
    const spans = fc
      .tuple(fc.nat(200), fc.integer({ min: 10, max: 90 }))
      .map(([from, length]) => between(from, from + length))
    const more = fc.tuple(fc.integer({ min: -10, max: 30 }), fc.integer({ min: -5, max: 10 }))
    fc.assert(
      fc.property(fc.array(fc.tuple(spans, more), { minLength: 1, maxLength: 12 }), all => {
        const uses = Object.fromEntries(all.map(([span], n) => [`s-${n}`, span]))
        const profile = profileOf(2, uses)
        const [placed, unplaced] = [[...profile.places.keys()], [...profile.unplaced.keys()]]
        const wanted = all.map(([{ fromMs, untilMs }, [earlier, later]], n) => [
          `s-${n}`,
          { fromMs: fromMs - earlier * MINUTE_MS, untilMs: Math.max(fromMs + 1, untilMs + later * MINUTE_MS) },
        ])
        const { changed, short } = follow(profile, Object.fromEntries(wanted))
        expect([...profile.places.keys()].toSorted()).toEqual(placed.toSorted())
        expect([...profile.unplaced.keys()].toSorted()).toEqual(unplaced.toSorted())
        for (const machine of profile.machines.values()) expect(isWithinLimits(machine)).toBe(true)
        for (const { id, fromMs, untilMs } of changed) expect(spanIn(profile, id)).toEqual({ fromMs, untilMs })
        for (const id of short.keys()) expect(spanIn(profile, id)).toEqual(uses[id])
      }),
      { numRuns: 300 },
    )
  })
})
