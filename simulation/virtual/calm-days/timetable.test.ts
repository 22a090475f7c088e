import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../world/durations.ts'
import { fleetOf, timetable } from './timetable.ts'

const DAYS = 4
const SEEDS = Array.from({ length: 30 }, (_, n) => n + 1)
const ALL = SEEDS.flatMap(seed => timetable(seed, DAYS, fleetOf(seed)))

describe('a timetable', () => {
  it('is drawn from its seed only, by the time of booking', () => {
    const bookings = timetable(3, DAYS, fleetOf(3))
    expect(timetable(3, DAYS, fleetOf(3))).toEqual(bookings)
    expect(timetable(4, DAYS, fleetOf(3))).not.toEqual(bookings)
    expect(bookings.map(({ atMs }) => atMs)).toEqual(bookings.map(({ atMs }) => atMs).sort((a, b) => a - b))
  })

  it('books ahead of time, except for walk-ins, and within its days', () => {
    for (const { atMs, startMs, isWalkIn } of ALL) {
      expect(startMs - atMs).toBeGreaterThanOrEqual(isWalkIn ? 0 : 39 * (HOUR_MS / 60))
      expect(atMs).toBeGreaterThanOrEqual(0)
      expect(startMs).toBeLessThan(DAYS * 24 * HOUR_MS)
    }
  })

  it('has classes, single labs, walk-ins, cancellations and extensions', () => {
    const classes = ALL.filter(({ seats }) => seats > 1)
    expect(classes.every(({ startMs }) => startMs % HOUR_MS === 0)).toBe(true)
    expect(Math.max(...classes.map(({ seats }) => seats))).toBe(20)
    for (const kind of [
      classes,
      ALL.filter(({ seats, isWalkIn }) => seats === 1 && !isWalkIn),
      ALL.filter(({ isWalkIn }) => isWalkIn),
      ALL.filter(({ cancel }) => cancel !== null),
      ALL.filter(({ extend }) => extend !== null),
    ])
      expect(kind.length).toBeGreaterThan(SEEDS.length)
  })
})
