import { describe, expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { overlaps, spanOf } from './span.ts'
import { timingsOf } from './timings.ts'

describe('a span', () => {
  it('lasts from the start of the lab until the lab is gone', () => {
    const timeslot = { start: '2026-01-02T09:00:00.000Z', end: '2026-01-02T10:00:00.000Z' }
    const definition = { name: 'bgp', boot_lead_minutes: null, node_definitions_required: ['iosvl2'] }
    expect(spanOf({ timeslot }, definition, timingsOf([]), { boot_lead_minutes: 'auto' })).toEqual({
      fromMs: toMs('2026-01-02T08:53:00.000Z'),
      untilMs: toMs('2026-01-02T10:02:00.000Z'),
    })
  })

  it('overlaps another where both have a moment', () => {
    expect(overlaps({ fromMs: 0, untilMs: 10 }, { fromMs: 9, untilMs: 20 })).toBe(true)
    expect(overlaps({ fromMs: 0, untilMs: 10 }, { fromMs: 10, untilMs: 20 })).toBe(false)
    expect(overlaps({ fromMs: 0, untilMs: Number.POSITIVE_INFINITY }, { fromMs: 1e12, untilMs: 2e12 })).toBe(true)
  })
})
