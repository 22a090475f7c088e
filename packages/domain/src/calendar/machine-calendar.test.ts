import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Amounts,
  addedMs,
  busySpans,
  copied,
  fits,
  type MachineCalendar,
  machineCalendar,
  peakOver,
  put,
  remove,
  totalMs,
} from './machine-calendar.ts'
import type { Span } from './span.ts'

const LIMITS: Amounts = { cpu_cores: 10, memory_gb: 10, storage_gb: 10, nodes: 10, ports: 10 }
const amounts = (cpu_cores: number, more: Partial<Amounts> = {}): Amounts => ({
  cpu_cores,
  memory_gb: 0,
  storage_gb: 0,
  nodes: 0,
  ports: 0,
  ...more,
})
const span = (fromMs: number, untilMs: number): Span => ({ fromMs, untilMs })
const TIMES = { wakeMs: 20, stopMs: 5 }

const aSpan = fc.tuple(fc.nat({ max: 60 }), fc.integer({ min: 1, max: 30 })).map(([from, ms]) => span(from, from + ms))
const aUse = fc.record({ span: aSpan, cpu: fc.integer({ min: 1, max: 40 }).map(tenths => tenths / 10) })
const someUses = fc.array(aUse, { maxLength: 12 })
const withUses = (uses: readonly { span: Span; cpu: number }[], awakeUntilMs?: number): MachineCalendar => {
  const calendar = machineCalendar(LIMITS, awakeUntilMs)
  for (const { span: at, cpu } of uses) put(calendar, at, amounts(cpu))
  return calendar
}
const usedAt = (uses: readonly { span: Span; cpu: number }[], ms: number) =>
  uses.reduce((sum, { span: at, cpu }) => sum + (at.fromMs <= ms && ms < at.untilMs ? cpu : 0), 0)

describe('the calendar of a machine', () => {
  it('takes uses one after another that don’t fit at once', () => {
    const calendar = machineCalendar(LIMITS)
    put(calendar, span(0, 10), amounts(8))
    expect(fits(calendar, span(5, 15), amounts(3))).toBe(false)
    expect(fits(calendar, span(10, 20), amounts(10))).toBe(true)
    expect(fits(calendar, span(-5, 0), amounts(10))).toBe(true)
    expect(fits(calendar, span(-5, 1), amounts(3))).toBe(false)
  })

  it.each(['memory_gb', 'storage_gb', 'nodes', 'ports'] as const)('limits %s as well', resource => {
    const calendar = machineCalendar(LIMITS)
    put(calendar, span(0, 10), amounts(0, { [resource]: 8 }))
    expect(fits(calendar, span(5, 15), amounts(0, { [resource]: 3 }))).toBe(false)
    expect(fits(calendar, span(5, 15), amounts(0, { [resource]: 2 }))).toBe(true)
    expect(fits(machineCalendar(LIMITS), span(0, 1), amounts(0, { [resource]: 11 }))).toBe(false)
  })

  it('counts capacity that is held in every later span', () => {
    const calendar = machineCalendar(LIMITS)
    put(calendar, span(0, Number.POSITIVE_INFINITY), amounts(8))
    expect(fits(calendar, span(1e12, 2e12), amounts(3))).toBe(false)
    expect(busySpans(calendar)).toEqual([span(0, Number.POSITIVE_INFINITY)])
    expect(peakOver(calendar, span(1e12, 2e12)).cpu_cores).toBe(8)
  })

  it('ignores empty spans', () => {
    const calendar = machineCalendar(LIMITS)
    put(calendar, span(5, 5), amounts(8))
    expect(busySpans(calendar)).toEqual([])
  })

  it('has the peak, and fits what the limit leaves at it', () => {
    fc.assert(
      fc.property(someUses, aSpan, (uses, asked) => {
        const calendar = withUses(uses)
        const moments = [asked.fromMs, ...uses.map(({ span: { fromMs } }) => fromMs)]
        const within = moments.filter(ms => ms >= asked.fromMs && ms < asked.untilMs)
        const peak = Math.max(...within.map(ms => usedAt(uses, ms)))
        expect(peakOver(calendar, asked).cpu_cores).toBeCloseTo(peak, 6)
        const left = Math.max(0, 10 - peak)
        expect(fits(calendar, asked, amounts(left))).toBe(peak < 10.05)
        expect(fits(calendar, asked, amounts(left + 0.1))).toBe(false)
      }),
    )
  })

  it('is as before once a use is removed', () => {
    fc.assert(
      fc.property(someUses, aUse, (uses, extra) => {
        const calendar = withUses(uses)
        const before = copied(calendar)
        put(calendar, extra.span, amounts(extra.cpu))
        remove(calendar, extra.span, amounts(extra.cpu))
        expect(busySpans(calendar)).toEqual(busySpans(before))
        for (let ms = 0; ms < 100; ms += 1)
          expect(peakOver(calendar, span(ms, ms + 1)).cpu_cores).toBeCloseTo(
            peakOver(before, span(ms, ms + 1)).cpu_cores,
            6,
          )
      }),
    )
  })
})

describe('the machine time of a use', () => {
  it('has the wake before the first use of a machine that sleeps', () => {
    expect(addedMs(machineCalendar(LIMITS), span(100, 200), TIMES)).toBe(120)
  })

  it('is the wait until the first use of a machine that is awake, at most that of a wake', () => {
    expect(addedMs(machineCalendar(LIMITS, 90), span(100, 200), TIMES)).toBe(110)
    expect(addedMs(machineCalendar(LIMITS, 0), span(100, 200), TIMES)).toBe(120)
  })

  it('is nothing beside a use that lasts longer, and the rest of one that ends earlier', () => {
    const calendar = withUses([{ span: span(100, 200), cpu: 1 }])
    expect(addedMs(calendar, span(120, 180), TIMES)).toBe(0)
    expect(addedMs(calendar, span(120, 230), TIMES)).toBe(30)
  })

  it('saves a wake where it fills a pause', () => {
    const calendar = withUses([
      { span: span(0, 100), cpu: 1 },
      { span: span(130, 200), cpu: 1 },
    ])
    expect(addedMs(calendar, span(100, 130), TIMES)).toBe(10)
  })

  it('does not let a machine sleep for less than a stop and a start', () => {
    const pause = (ms: number) => addedMs(withUses([{ span: span(0, 100), cpu: 1 }]), span(100 + ms, 300), TIMES)
    expect(pause(24)).toBe(24 + 176)
    expect(pause(25)).toBe(20 + 175)
  })

  it('is the difference of the totals', () => {
    fc.assert(
      fc.property(someUses, aUse, fc.constantFrom(undefined, 0, 20), (uses, extra, awakeUntilMs) => {
        const calendar = withUses(uses, awakeUntilMs)
        const before = totalMs(calendar, TIMES)
        const added = addedMs(calendar, extra.span, TIMES)
        put(calendar, extra.span, amounts(extra.cpu))
        expect(added).toBeCloseTo(totalMs(calendar, TIMES) - before, 6)
      }),
      { numRuns: 500 },
    )
  })
})
