import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { feasibleSchedule } from './feasible-schedule.ts'
import { lowerBound } from './lower-bound.ts'
import type { LabSpan, MachineModel } from './machine-model.ts'

const MINUTE_MS = 60_000
const MACHINE: MachineModel = {
  capacity: { cpu_cores: 48, memory_gb: 184, storage_gb: 1000, max_nodes: 200 },
  usd_per_hour: 6,
  boot_ms: 10 * MINUTE_MS,
  first_boot_ms: 3 * MINUTE_MS,
  stop_ms: 5 * MINUTE_MS,
}

/** From and until in minutes. */
const span = (from: number, until: number, cpu_cores = 4): LabSpan => ({
  needs: { cpu_cores, memory_gb: cpu_cores * 3, storage_gb: 10, node_count: 3 },
  from_ms: from * MINUTE_MS,
  until_ms: until * MINUTE_MS,
})

const fits = (labs: readonly LabSpan[]) =>
  labs.every(({ from_ms }) => {
    const running = labs.filter(other => other.from_ms <= from_ms && from_ms < other.until_ms)
    return running.reduce((sum, { needs }) => sum + needs.cpu_cores, 0) <= MACHINE.capacity.cpu_cores
  })

/** The minutes of one machine, each gap paid as it is cheapest and possible. */
function minutesOf(labs: readonly LabSpan[]): number {
  let [minutes, until] = [0, Number.NEGATIVE_INFINITY]
  for (const { from_ms, until_ms } of labs.toSorted((a, b) => a.from_ms - b.from_ms)) {
    const gap = from_ms - until
    if (gap > 0) minutes += (gap < 15 * MINUTE_MS ? gap : 10 * MINUTE_MS) / MINUTE_MS
    minutes += Math.max(0, until_ms - Math.max(until, from_ms)) / MINUTE_MS
    until = Math.max(until, until_ms)
  }
  return minutes
}

const hoursOf = (machines: readonly (readonly LabSpan[])[]): number =>
  machines.reduce((sum, labs) => sum + minutesOf(labs) + 3, 0) / 60

/** The least hours of all ways to distribute the labs, without the time that first boots add. */
function fewestHours(labs: readonly LabSpan[]): number {
  let best = Number.POSITIVE_INFINITY
  const distribute = (machines: readonly LabSpan[][], left: readonly LabSpan[]): void => {
    const [next, ...others] = left
    if (next === undefined) best = Math.min(best, machines.reduce((sum, held) => sum + minutesOf(held), 0) / 60)
    else {
      for (const [at, held] of machines.entries())
        if (fits([...held, next])) distribute(machines.with(at, [...held, next]), others)
      distribute([...machines, [next]], others)
    }
  }
  distribute([], labs)
  return best
}

const aSpan = fc
  .tuple(fc.nat({ max: 300 }), fc.integer({ min: 5, max: 120 }), fc.constantFrom(4, 8, 20, 30))
  .map(([from, length, cores]) => span(from, from + length, cores))

describe('the least cost of a calendar', () => {
  it('is nothing without labs', () => {
    expect(lowerBound([], MACHINE)).toEqual({ usd: 0, hours: 0, boots: 0, machines: 0 })
    expect(feasibleSchedule([], MACHINE)).toEqual({ usd: 0, hours: 0, boots: 0, machines: 0, labs: [] })
  })

  it('is one boot and one lab for one lab', () => {
    const least = { usd: expect.closeTo(7.3), hours: 73 / 60, boots: 1, machines: 1 }
    expect(lowerBound([span(0, 60)], MACHINE)).toEqual(least)
    expect(feasibleSchedule([span(0, 60)], MACHINE)).toMatchObject(least)
  })

  it('bridges a gap that is shorter than a boot, and sleeps through a longer one', () => {
    const labs = (gap: number) => [span(0, 60), span(60 + gap, 120 + gap)]
    expect(lowerBound(labs(9), MACHINE)).toMatchObject({ boots: 1, hours: (129 + 13) / 60 })
    expect(lowerBound(labs(30), MACHINE)).toMatchObject({ boots: 2, hours: (120 + 23) / 60 })
    expect(feasibleSchedule(labs(30), MACHINE)).toMatchObject({ boots: 2, hours: (120 + 23) / 60 })
  })

  it('can’t sleep through a gap in which a machine can’t stop and boot', () => {
    const labs = [span(0, 60), span(73, 120)]
    expect(lowerBound(labs, MACHINE)).toMatchObject({ boots: 2 })
    // Another machine is cheaper than staying for 13 minutes.
    expect(feasibleSchedule(labs, MACHINE)).toMatchObject({ boots: 2, machines: 2 })
  })

  it('leaves out what no machine holds', () => {
    expect(lowerBound([span(0, 60, 49)], MACHINE).hours).toBe(0)
    expect(feasibleSchedule([span(0, 60, 49)], MACHINE).hours).toBe(0)
  })

  it('aligns ends: long labs share a machine, and short ones another', () => {
    const labs = [span(0, 300, 24), span(0, 60, 24), span(0, 300, 24), span(0, 60, 24)]
    expect(feasibleSchedule(labs, MACHINE).hours).toBeCloseTo((360 + 26) / 60)
  })

  it('is carried out by a schedule in which no machine is overfull and no lab is missing', () => {
    fc.assert(
      fc.property(fc.array(aSpan, { maxLength: 25 }), spans => {
        const { labs, hours, machines } = feasibleSchedule(spans, MACHINE)
        expect(labs.flat().length).toBe(spans.length)
        expect(new Set(labs.flat())).toEqual(new Set(spans))
        expect(labs.every(fits)).toBe(true)
        expect(machines).toBe(labs.length)
        expect(hours).toBeCloseTo(hoursOf(labs))
      }),
    )
  })

  it('is between the bound and the schedule for every small calendar', () => {
    fc.assert(
      fc.property(fc.array(aSpan, { minLength: 1, maxLength: 6 }), spans => {
        const bound = lowerBound(spans, MACHINE)
        const feasible = feasibleSchedule(spans, MACHINE)
        const withoutFirst = ({ hours, machines }: { hours: number; machines: number }) => hours - (machines * 3) / 60
        const fewest = fewestHours(spans)
        expect(withoutFirst(bound)).toBeLessThanOrEqual(fewest + 1e-9)
        expect(fewest).toBeLessThanOrEqual(withoutFirst(feasible) + 1e-9)
        expect(bound.usd).toBeLessThanOrEqual(feasible.usd + 1e-9)
      }),
    )
  })
})
