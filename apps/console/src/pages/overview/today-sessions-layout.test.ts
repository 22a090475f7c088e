import { toInstant } from '@lcm/domain/instant'
import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { dayOf, hoursOf, todayOf } from './today-sessions-layout.ts'

const HOUR_MS = 3_600_000
const DAY = { startMs: 0, endMs: 24 * HOUR_MS }
const slot = (from: number, to: number) => ({ start: toInstant(from * HOUR_MS), end: toInstant(to * HOUR_MS) })
const session = (id: string, from: number, to: number, more = {}) => aSession({ id, timeslot: slot(from, to), ...more })

describe('the day', () => {
  it('lasts from midnight to midnight in local time', () => {
    const { startMs, endMs } = dayOf(Date.parse('2026-01-02T12:00:00'))
    expect([startMs, endMs]).toEqual([Date.parse('2026-01-02T00:00:00'), Date.parse('2026-01-03T00:00:00')])
  })
})

describe('the hours of a day', () => {
  const placesOf = (hours: ReturnType<typeof hoursOf>) => hours.map(({ place }) => place)

  it('align with the sessions of that hour, even when daylight saving time begins', () => {
    const spring = { startMs: 0, endMs: 23 * HOUR_MS }
    const atHour = (hour: number) => (hour < 2 ? hour : hour - 1) * HOUR_MS
    expect(placesOf(hoursOf(spring, atHour))).toEqual([0, 2, 5, 8, 11, 14, 17, 20, 23].map(hours => hours / 23))
  })

  it('are in local time', () => {
    const day = dayOf(Date.parse('2026-01-02T12:00:00'))
    expect(placesOf(hoursOf(day))).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24].map(hours => hours / 24))
  })
})

describe('sessions of the day', () => {
  it('share lanes if they do not overlap', () => {
    const { bars, laneCount } = todayOf([session('c', 8, 10), session('a', 0, 6), session('b', 3, 9)], DAY)
    expect(bars.map(bar => [bar.session.id, bar.lane, bar.left, bar.width])).toEqual([
      ['a', 0, 0, 0.25],
      ['b', 1, 3 / 24, 0.25],
      ['c', 0, 8 / 24, 10 / 24 - 8 / 24],
    ])
    expect(laneCount).toBe(2)
  })

  it('are cut at midnight, without sessions of other days', () => {
    const { bars } = todayOf([session('long', -5, 30), session('before', -5, 0), session('after', 24, 25)], DAY)
    expect(bars.map(bar => [bar.session.id, bar.left, bar.width])).toEqual([['long', 0, 1]])
  })

  it('end when they were over, and are omitted when that was before their start', () => {
    const early = session('early', 2, 10, { status: 'ARCHIVED', entered_status_at: toInstant(4 * HOUR_MS) })
    const never = session('never', 2, 10, { status: 'TERMINATED', entered_status_at: toInstant(HOUR_MS) })
    const { bars } = todayOf([early, never], DAY)
    expect(bars.map(bar => [bar.session.id, bar.width * 24])).toEqual([['early', 2]])
  })

  it('stay wide enough to be visible, even at the end of the day', () => {
    const { bars } = todayOf([session('short', 12, 12.01), session('last', 23.99, 24)], DAY)
    expect(bars.every(bar => bar.width >= 0.0119 && bar.left + bar.width <= 1)).toBe(true)
  })

  it('are counted by status, in lifecycle order', () => {
    const sessions = [session('a', 1, 2, { status: 'RUNNING' }), session('b', 1, 2), session('c', 1, 2)]
    expect(todayOf(sessions, DAY).counts).toEqual([
      { status: 'PENDING', count: 2 },
      { status: 'RUNNING', count: 1 },
    ])
  })
})
