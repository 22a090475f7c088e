import { describe, expect, it } from 'vitest'
import { quantile, Timing, timingId, timingsOf, withDuration } from './timings.ts'

const MINUTE_MS = 60_000
const AUTO = { boot_lead_minutes: 'auto' } as const
const definition = { name: 'bgp', boot_lead_minutes: null, node_definitions_required: ['iosv', 'iosvl2'] }
const timings = (id: string, recent_ms: number[]) => timingsOf([{ id, recent_ms }])
const minutes = (count: number, last: number) => [...new Array<number>(count - 1).fill(MINUTE_MS), last * MINUTE_MS]

describe('measured durations', () => {
  it('are kept in bounds, in whole milliseconds, the newest last', () => {
    const id = timingId.teardown
    expect(withDuration({ id, recent_ms: [1, 2] }, 3.4)).toEqual([1, 2, 3])
    expect(withDuration({ id, recent_ms: [] }, -1)).toEqual([0])
    const full = withDuration({ id, recent_ms: new Array(1000).fill(1) }, 2)
    expect([full.length, full.at(-1)]).toEqual([1000, 2])
    expect(withDuration({ id: timingId.lab('bgp'), recent_ms: full }, 3)).toEqual([...new Array(48).fill(1), 2, 3])
    const stored = { id: 'teardown', version: 1, created_at: NOW, updated_at: NOW, recent_ms: [5] }
    expect(Timing.parse(stored)).toEqual(stored)
  })

  it('have quantiles that were measured', () => {
    expect(quantile([], 0.5)).toBeNull()
    expect(quantile([3, 1, 2], 0.5)).toBe(2)
    expect(quantile([3, 1, 2], 0.999)).toBe(3)
    expect(quantile([3, 1, 2], 0)).toBe(1)
  })
})
const NOW = '2026-01-02T03:04:05.000Z'

describe('the wake time', () => {
  it('is 20 minutes before anything was measured, and 25 for the first boot', () => {
    expect(timingsOf([]).bootMs('metal')).toEqual({ meanMs: 10 * MINUTE_MS, wakeMs: 20 * MINUTE_MS })
    expect(timingsOf([]).firstBootMs('metal')).toEqual({ meanMs: 13 * MINUTE_MS, wakeMs: 25 * MINUTE_MS })
  })

  it('is a minute more than all but one boot in a thousand took', () => {
    const boots = [...new Array<number>(998).fill(6 * MINUTE_MS), 9 * MINUTE_MS, 30 * MINUTE_MS]
    expect(timings(timingId.boot('metal'), boots).bootMs('metal').wakeMs).toBe(10 * MINUTE_MS)
    expect(timings(timingId.boot('metal'), boots).bootMs('metal').meanMs).toBeCloseTo(6.027 * MINUTE_MS)
  })

  it('is not below the default after a few boots', () => {
    const id = timingId.firstBoot('metal')
    expect(timings(id, minutes(99, 4)).firstBootMs('metal').wakeMs).toBe(25 * MINUTE_MS)
    expect(timings(id, minutes(99, 30)).firstBootMs('metal').wakeMs).toBe(31 * MINUTE_MS)
    expect(timings(id, minutes(100, 4)).firstBootMs('metal').wakeMs).toBe(5 * MINUTE_MS)
  })

  it('is that of the template', () => {
    expect(timings(timingId.boot('metal'), minutes(200, 4)).bootMs('nested').wakeMs).toBe(20 * MINUTE_MS)
  })
})

describe('the lead of a lab', () => {
  it('is what its author set, else what an operator set', () => {
    expect(timingsOf([]).leadMs({ ...definition, boot_lead_minutes: 3 }, AUTO)).toBe(3 * MINUTE_MS)
    expect(timingsOf([]).leadMs(definition, { boot_lead_minutes: 15 })).toBe(15 * MINUTE_MS)
    expect(timingsOf([]).leadMs({ ...definition, boot_lead_minutes: 0 }, { boot_lead_minutes: 15 })).toBe(0)
  })

  it('follows from its node types before it was measured', () => {
    expect(timingsOf([]).leadMs(definition, AUTO)).toBe((5 + 2) * MINUTE_MS)
    expect(timingsOf([]).leadMs({ ...definition, node_definitions_required: ['fmcv'] }, AUTO)).toBe(32 * MINUTE_MS)
    expect(timingsOf([]).leadMs({ ...definition, node_definitions_required: ['unheard-of'] }, AUTO)).toBe(7 * MINUTE_MS)
    expect(timingsOf([]).leadMs({ ...definition, node_definitions_required: [] }, AUTO)).toBe(7 * MINUTE_MS)
  })

  it('is half a minute more than the slowest of its last 50 starts', () => {
    const starts = [20 * MINUTE_MS, ...minutes(50, 2)]
    expect(timings(timingId.lab('bgp'), starts).leadMs(definition, AUTO)).toBe(2.5 * MINUTE_MS)
  })

  it('is not below that of its node types after a few starts', () => {
    expect(timings(timingId.lab('bgp'), minutes(9, 2)).leadMs(definition, AUTO)).toBe(7 * MINUTE_MS)
    expect(timings(timingId.lab('bgp'), minutes(9, 12)).leadMs(definition, AUTO)).toBe(12.5 * MINUTE_MS)
  })
})

describe('the removal of a lab', () => {
  it('takes two minutes until it was measured, then as long as all but one in a hundred', () => {
    expect(timingsOf([]).teardownMs).toBe(2 * MINUTE_MS)
    expect(timings(timingId.teardown, minutes(100, 7)).teardownMs).toBe(MINUTE_MS)
    expect(timings(timingId.teardown, minutes(99, 7)).teardownMs).toBe(7 * MINUTE_MS)
  })
})
