import fc from 'fast-check'
import { expect, it } from 'vitest'
import { leastCost, type TemplateMachine } from './least-cost.ts'
import type { LabSpan } from './machine-model.ts'

const MINUTE_MS = 60_000
const machine = (template_name: string, cpu_cores: number, usd_per_hour: number): TemplateMachine => ({
  template_name,
  capacity: { cpu_cores, memory_gb: cpu_cores * 4, storage_gb: 1000, max_nodes: 200 },
  usd_per_hour,
  boot_ms: 10 * MINUTE_MS,
  first_boot_ms: 0,
  stop_ms: 5 * MINUTE_MS,
  running: { count: 0, at_ms: 0 },
})
const LARGE = machine('large', 48, 4)
const SMALL = machine('small', 16, 1)

const lab = (cpu_cores: number, from: number, until: number): LabSpan => ({
  needs: { cpu_cores, memory_gb: 4, storage_gb: 0, node_count: 1 },
  from_ms: from * MINUTE_MS,
  until_ms: until * MINUTE_MS,
})

it('is none without labs, without machines, and for labs that no machine holds', () => {
  expect(leastCost([], [LARGE])).toBeNull()
  expect(leastCost([lab(4, 0, 60)], [])).toBeNull()
  expect(leastCost([lab(64, 0, 60), lab(4, 60, 60)], [LARGE, SMALL])).toBeNull()
})

it('is that of the cheapest template', () => {
  const least = leastCost([lab(4, 0, 50), lab(4, 0, 50)], [LARGE, SMALL])
  expect(least).toMatchObject({ template_names: ['small'], labs: 2, bound: { usd: 1, boots: 1 }, feasible: { usd: 1 } })
})

it('counts labs that this template doesn’t hold on the next one', () => {
  const least = leastCost([lab(4, 0, 50), lab(24, 1000, 1050)], [SMALL, LARGE])
  expect(least).toMatchObject({ template_names: ['small', 'large'], labs: 2, bound: { usd: 5, machines: 2 } })
})

it('prefers a template that holds all labs only if it costs less', () => {
  const labs = [lab(24, 0, 50), ...Array.from({ length: 6 }, () => lab(4, 0, 50))]
  // One large machine holds all of them for 4 USD; small ones need two more.
  expect(leastCost(labs, [SMALL, LARGE])).toMatchObject({ template_names: ['large'], feasible: { usd: 4 } })
})

it('saves the boots of machines that run at the beginning', () => {
  const running = (count: number) => ({ ...LARGE, running: { count, at_ms: 0 } })
  const labs = [lab(24, 0, 60), lab(24, 0, 60), lab(24, 4, 60)]
  const least = (count: number) => leastCost(labs, [running(count)])
  expect(least(0)).toMatchObject({ bound: { boots: 2 }, feasible: { boots: 2, machines: 2 } })
  expect(least(1)).toMatchObject({ bound: { boots: 1, hours: 126 / 60 }, feasible: { boots: 1, hours: 126 / 60 } })
  // The second one stays for 4 minutes instead of booting for 10.
  expect(least(3)).toMatchObject({ bound: { boots: 0, hours: 2, machines: 2 }, feasible: { boots: 0, hours: 2 } })
})

it('is never above the feasible schedule, and never less for more labs', () => {
  const aLab = fc
    .tuple(fc.constantFrom(4, 12, 24), fc.nat({ max: 600 }), fc.integer({ min: 5, max: 200 }))
    .map(([cores, from, length]) => lab(cores, from, from + length))
  fc.assert(
    fc.property(fc.array(aLab, { minLength: 1, maxLength: 12 }), aLab, (labs, more) => {
      const least = leastCost(labs, [SMALL, LARGE])
      expect(least?.labs).toBe(labs.length)
      expect(least?.bound.usd).toBeLessThanOrEqual((least?.feasible.usd ?? 0) + 1e-9)
      const onLarge = (all: readonly LabSpan[]) => leastCost(all, [LARGE])?.bound.usd ?? 0
      expect(onLarge(labs)).toBeLessThanOrEqual(onLarge([...labs, more]) + 1e-9)
    }),
  )
})
