import { expect, it } from 'vitest'
import { pastRatio } from './past-ratio.ts'

const since = '1970-01-01T00:00:00.000Z'
const HOUR_MS = 3_600_000
const METAL = {
  template_name: 'metal',
  capacity: { cpu_cores: 48, memory_gb: 184, storage_gb: 200, max_nodes: 200 },
  usd_per_hour: 4,
  boot_ms: HOUR_MS / 4,
  running_at_start: 0,
}
const needs = { cpu_cores: 24, memory_gb: 10, storage_gb: 0, node_count: 2 }
const labs = [
  {
    needs,
    times: [
      [0, HOUR_MS],
      [0, HOUR_MS],
    ] as [number, number][],
  },
]

it('is what machines cost by the least that their labs could have cost', () => {
  expect(pastRatio({ since, machine_usd: 10, machines: [METAL], labs })).toEqual({
    machine_usd: 10,
    labs: 2,
    bound_usd: 5,
    feasible_usd: 5,
    template_names: ['metal'],
    to_bound: 2,
  })
})

it('leaves out the boots of machines that ran before', () => {
  const machines = [{ ...METAL, running_at_start: 1 }]
  expect(pastRatio({ since, machine_usd: 8, machines, labs })).toMatchObject({ bound_usd: 4, to_bound: 2 })
})

it('is none without labs, and without machines whose price is known', () => {
  expect(pastRatio({ since, machine_usd: 10, machines: [METAL], labs: [] })).toBeNull()
  expect(pastRatio({ since, machine_usd: 0, machines: [], labs })).toBeNull()
  expect(pastRatio({ since, machine_usd: 0, machines: [{ ...METAL, usd_per_hour: 0 }], labs })).toBeNull()
})
