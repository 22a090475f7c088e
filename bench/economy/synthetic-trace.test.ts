import { describe, expect, it } from 'vitest'
import { syntheticTrace } from './synthetic-trace.ts'
import { isWalkIn, TERM_MS, WEEK_MS } from './trace.ts'

describe('the synthetic trace', () => {
  const bookings = syntheticTrace(1, 8)
  const share = (part: (typeof bookings)[number][]) => part.length / bookings.length

  it('is the same for the same seed, and another for another', () => {
    expect(syntheticTrace(1, 8)).toEqual(bookings)
    expect(syntheticTrace(2, 8)).not.toEqual(bookings)
  })

  it('holds what a trace file may hold', () => {
    expect(new Set(bookings.map(({ id }) => id)).size).toBe(bookings.length)
    for (const { bookedMs, startMs, endMs, leftMs, canceledMs } of bookings) {
      expect(bookedMs).toBeLessThanOrEqual(startMs)
      expect(leftMs).toBeGreaterThan(startMs)
      expect(leftMs).toBeLessThanOrEqual(endMs)
      expect(canceledMs ?? bookedMs).toBeGreaterThanOrEqual(bookedMs)
      expect(canceledMs ?? startMs).toBeLessThanOrEqual(startMs)
      expect(startMs).toBeGreaterThanOrEqual(TERM_MS)
      expect(startMs).toBeLessThan(TERM_MS + 8 * WEEK_MS)
    }
  })

  it('has the habits of learners', () => {
    expect(share(bookings.filter(({ kind }) => kind === 'class'))).toBeGreaterThan(0.6)
    expect(share(bookings.filter(isWalkIn))).toBeGreaterThan(0.05)
    expect(share(bookings.filter(({ isNoShow }) => isNoShow))).toBeCloseTo(0.07, 1)
    expect(share(bookings.filter(({ canceledMs }) => canceledMs !== null))).toBeCloseTo(0.04, 1)
    expect(share(bookings.filter(({ leftMs, endMs }) => leftMs < endMs))).toBeCloseTo(0.23, 1)
  })

  it('is busier with self-study at the end of the term', () => {
    const selfIn = (week: number) =>
      bookings.filter(({ kind, startMs }) => kind === 'self' && Math.floor((startMs - TERM_MS) / WEEK_MS) === week)
        .length
    expect(selfIn(7)).toBeGreaterThan(2 * selfIn(2))
  })
})
