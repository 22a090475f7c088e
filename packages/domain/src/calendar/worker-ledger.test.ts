import { aServingWorker } from '@lcm/testkit/test-data-builders'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../instant.ts'
import type { Worker } from '../worker/worker.ts'
import { ALWAYS } from './span.ts'
import {
  AS_PLANNED,
  emptied,
  heldFrom,
  peakReserved,
  spanOfReservation,
  timesOf,
  withoutReservation,
  withReservation,
  withTimes,
} from './worker-ledger.ts'

const MINUTE_MS = 60_000
const NOW = '2026-01-02T09:00:00.000Z'
const NOW_MS = toMs(NOW)
const at = (minutes: number) => toInstant(NOW_MS + minutes * MINUTE_MS)
const ms = (minutes: number) => NOW_MS + minutes * MINUTE_MS
const gb = (memory_gb: number) => ({
  ...{ cpu_cores: 1, memory_gb, storage_gb: 0, node_count: 1, nested_virtualization: false },
})
const worker = aServingWorker()
const times = (from: number, until: number | null) => ({
  since: at(-100),
  from: at(from),
  until: until === null ? null : at(until),
})

describe('a reservation counts', () => {
  const TIME = { nowMs: NOW_MS, teardownMs: 2 * MINUTE_MS }
  it.each<[string, number | null, number]>([
    ['until its lab should be gone', 30, ms(30)],
    ['until its lab can be gone, when it should be gone already', -5, ms(2)],
    ['until its lab can be gone, from the moment it should be gone', 0, ms(2)],
    ['at every time while it is held', null, Number.POSITIVE_INFINITY],
  ])('%s', (_, until, untilMs) => {
    expect(spanOfReservation(times(-60, until), TIME)).toEqual({ fromMs: ms(-60), untilMs })
  })

  it('as planned, when lateness does not matter', () => {
    expect(spanOfReservation(times(-60, -5), AS_PLANNED).untilMs).toBe(ms(-5))
  })
})

describe('the ledger', () => {
  const after = withReservation(withReservation(worker, 'a', gb(8), times(-60, 10)), 'b', gb(6), times(10, 60))

  it('adds up what is reserved at the same time only', () => {
    expect(after.capacity.reserved).toMatchObject({ memory_gb: 8, cpu_cores: 1, nodes: 1 })
    const both = withReservation(after, 'c', gb(1), times(0, 20))
    expect(both.capacity.reserved).toMatchObject({ memory_gb: 9, cpu_cores: 2 })
    expect(peakReserved(both, { fromMs: ms(20), untilMs: ms(60) }).memory_gb).toBe(6)
    expect(withoutReservation(both, 'c')).toEqual(after)
    expect(emptied(both).capacity.reserved.memory_gb).toBe(0)
  })

  it('changes times, and nothing that is the same already', () => {
    expect(withTimes(after, 'a', { until: at(10) })).toBe(after)
    expect(withTimes(after, 'ls-none', { until: null })).toBe(after)
    const longer = withTimes(after, 'a', { until: at(20) })
    expect(longer.capacity.reserved.memory_gb).toBe(14)
    expect(withTimes(longer, 'a', { started_at: NOW }).reservations.a?.started_at).toBe(NOW)
  })

  it('holds a reservation without an end', () => {
    const held = withReservation(worker, 'a', gb(8), NOW)
    expect(held.reservations.a).toMatchObject(heldFrom(NOW))
    expect(timesOf(ALWAYS, NOW)).toEqual({ since: NOW, from: NOW, until: null })
    expect(timesOf({ fromMs: ms(1), untilMs: ms(2) }, NOW)).toEqual({ since: NOW, from: at(1), until: at(2) })
  })

  const reservation = fc.record({
    memory: fc.integer({ min: 0, max: 60 }),
    from: fc.integer({ min: -60, max: 60 }),
    lasts: fc.option(fc.integer({ min: 1, max: 90 }), { nil: null }),
  })
  type Reserved = Parameters<Parameters<typeof reservation.map>[0]>[0]
  const ledgerOf = (all: readonly Reserved[]): Worker =>
    all.reduce(
      (each, { memory, from, lasts }, n) =>
        withReservation(each, `s${n}`, gb(memory / 10), times(from, lasts === null ? null : from + lasts)),
      worker,
    )
  const seen = { nowMs: NOW_MS, teardownMs: 7 * MINUTE_MS }
  /** Minute by minute. */
  function bruteForce(all: readonly Reserved[], from: number, until: number): number {
    let most = 0
    for (let minute = from; minute < until; minute += 1) {
      const isThere = (each: Reserved) => {
        const end = each.lasts === null ? Number.POSITIVE_INFINITY : each.from + each.lasts
        return each.from <= minute && minute < (end <= 0 ? 7 : end)
      }
      most = Math.max(
        most,
        all.filter(isThere).reduce((sum, { memory }) => sum + memory, 0),
      )
    }
    return most / 10
  }

  it('knows the peak of every span, as counted minute by minute', () => {
    const span = fc.tuple(fc.integer({ min: -70, max: 70 }), fc.integer({ min: 1, max: 90 }))
    fc.assert(
      fc.property(fc.array(reservation, { maxLength: 12 }), span, (all, [from, lasts]) => {
        const peak = peakReserved(ledgerOf(all), { fromMs: ms(from), untilMs: ms(from + lasts) }, seen)
        expect(peak.memory_gb).toBeCloseTo(bruteForce(all, from, from + lasts), 6)
      }),
      { numRuns: 500 },
    )
  })
})
