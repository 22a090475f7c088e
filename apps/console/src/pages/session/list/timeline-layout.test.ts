import { toInstant } from '@lcm/domain/instant'
import { aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { drawnSpan, spanOf, ticksOf, timelineRows } from './timeline-layout.ts'

const HOUR_MS = 3_600_000
const FROM_MS = Date.parse('2026-01-02T00:00:00.000Z')
const SPAN = { fromMs: FROM_MS, toMs: FROM_MS + 10 * HOUR_MS }
const at = (hours: number) => toInstant(FROM_MS + hours * HOUR_MS)

const booked = (id: string, from: number, to: number, worker_id: string | null = 'w-1') =>
  aSession({ id, worker_id, status: 'RUNNING', timeslot: { start: at(from), end: at(to) } })

describe('the span', () => {
  it('follows the current time in steps', () => {
    const nowMs = FROM_MS + 9.9 * HOUR_MS
    expect(spanOf('24h', null, nowMs)).toEqual({ fromMs: FROM_MS + 3 * HOUR_MS, toMs: FROM_MS + 27 * HOUR_MS })
    expect(spanOf('24h', null, nowMs - HOUR_MS / 2)).toEqual(spanOf('24h', null, nowMs))
  })

  it('stays on the selected page', () => {
    expect(spanOf('6h', FROM_MS, FROM_MS + 99 * HOUR_MS)).toEqual({ fromMs: FROM_MS, toMs: FROM_MS + 6 * HOUR_MS })
  })

  it('is marked at whole hours and days in local time', () => {
    const hours = ticksOf(spanOf('6h', FROM_MS + 60_000, 0), '6h').map(ms => new Date(ms).getMinutes())
    expect(hours).toEqual([0, 0, 0, 0, 0, 0])
    const days = ticksOf(spanOf('7d', FROM_MS + 60_000, 0), '7d').map(ms => new Date(ms).getHours())
    expect(days).toEqual([0, 0, 0, 0, 0, 0, 0])
  })
})

describe('the day on which clocks are set', () => {
  const berlin = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/Berlin',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  })
  const clock = (ms: number) => {
    const parts = berlin.formatToParts(ms)
    const of = (type: string) => Number(parts.find(part => part.type === type)?.value)
    return { day: of('day'), hour: of('hour'), minute: of('minute') }
  }

  it('has no mark twice, and none is left out', () => {
    for (const day of ['2026-03-29', '2026-10-25']) {
      const fromMs = Date.parse(`${day}T00:00:00.000Z`) - HOUR_MS / 2
      const marks = ticksOf(spanOf('6h', fromMs, 0), '6h', clock)
      expect(marks.map(ms => (ms - fromMs) / HOUR_MS)).toEqual([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
      const days = ticksOf(spanOf('7d', fromMs - 24 * HOUR_MS, 0), '7d', clock).map(ms => clock(ms).hour)
      expect(days).toEqual([0, 0, 0, 0, 0, 0, 0])
    }
  })
})

describe('rows', () => {
  it('put sessions on their workers to scale, unplaced sessions first', () => {
    const rows = timelineRows([booked('ls-1', 0, 5), booked('ls-2', 5, 10, null)], SPAN)
    expect(rows.map(({ workerId, bars }) => [workerId, bars[0]?.left, bars[0]?.width])).toEqual([
      [null, 0.5, 0.5],
      ['w-1', 0, 0.5],
    ])
  })

  it('omit canceled and finished sessions from those that wait', () => {
    const waiting = booked('ls-1', 1, 5, null)
    const sessions = [
      { ...waiting, status: 'PENDING' as const, desired_status: 'TERMINATED' as const },
      { ...waiting, status: 'TERMINATED' as const, entered_status_at: at(4) },
    ]
    expect(timelineRows(sessions, SPAN)).toMatchObject([{ workerId: null, bars: [] }])
    expect(timelineRows([waiting], SPAN)[0]?.bars).toHaveLength(1)
  })

  it('put overlapping sessions on separate lanes', () => {
    const [, row] = timelineRows([booked('ls-3', 4, 6), booked('ls-1', 0, 5), booked('ls-2', 5, 9)], SPAN)
    expect(row?.bars.map(({ session, lane }) => [session.id, lane])).toEqual([
      ['ls-1', 0],
      ['ls-3', 1],
      ['ls-2', 0],
    ])
    expect(row?.lanes).toBe(2)
  })

  it('keep very short sessions from hiding each other', () => {
    const [, row] = timelineRows([booked('ls-1', 1, 1.01), booked('ls-2', 1.02, 1.03)], SPAN)
    expect(row?.lanes).toBe(2)
  })

  it('cut bars at the edges and leave out sessions outside the range', () => {
    const [, row] = timelineRows([booked('ls-1', -1, 11), booked('ls-2', 10, 12), booked('ls-3', -3, 0)], SPAN)
    expect(row?.bars).toMatchObject([{ left: 0, width: 1, isCutLeft: true, isCutRight: true }])
  })

  it('show how many do not fit', () => {
    const crowd = Array.from({ length: 13 }, (_, n) => booked(`ls-${n}`, 1, 2))
    expect(timelineRows(crowd, SPAN)[1]).toMatchObject({ lanes: 10, hidden: 3 })
  })

  it('handle a thousand sessions on two hundred workers', () => {
    const many = Array.from({ length: 1000 }, (_, n) => booked(`ls-${n}`, n % 7, (n % 7) + 1, `w-${n % 200}`))
    expect(timelineRows(many, SPAN)).toHaveLength(201)
  })
})

it('draws a session that ended early until its end, and omits one that never started', () => {
  const over = { ...booked('ls-1', 1, 5), status: 'TERMINATED' as const }
  expect(drawnSpan({ ...over, entered_status_at: at(2) })).toEqual({
    fromMs: FROM_MS + HOUR_MS,
    toMs: FROM_MS + 2 * HOUR_MS,
  })
  expect(drawnSpan({ ...over, entered_status_at: at(9) })?.toMs).toBe(FROM_MS + 5 * HOUR_MS)
  expect(drawnSpan({ ...over, entered_status_at: at(0) })).toBe(null)
})
