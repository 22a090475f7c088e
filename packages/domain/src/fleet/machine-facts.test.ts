import { anAttempt, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { Capacity, RegionConfig } from '../template/worker-template.ts'
import { DISK_USD_PER_GB_MONTH, INSTANCE_TYPES, PRICES_AS_OF } from './instance-types.ts'
import { type RegionFacts, withMachineFacts } from './machine-facts.ts'

describe('the shipped instance types', () => {
  it.each([...INSTANCE_TYPES])(
    '%s has sizes and a price that fit together',
    (name, { vcpus, memory_gb, cost_per_hour_usd }) => {
      expect(name).toMatch(/^[a-z0-9-]+\.(metal(-\d+xl)?|\d*xlarge)$/)
      expect([2, 4, 8, 16, 32]).toContain(Math.round(memory_gb / vcpus / 2) * 2 || 2)
      expect(Number.isInteger(vcpus) && vcpus >= 4).toBe(true)
      expect(cost_per_hour_usd / vcpus).toBeGreaterThan(0.03)
      expect(cost_per_hour_usd / vcpus).toBeLessThan(0.25)
    },
  )

  it('cost as much as the virtual machine of their size, or 10 % more', () => {
    for (const family of ['c8i', 'm8i', 'r8i'])
      for (const size of [48, 96]) {
        const metal = INSTANCE_TYPES.get(`${family}.metal-${size}xl`)
        const virtual = INSTANCE_TYPES.get(`${family}.${size}xlarge`)
        const factor = (metal?.cost_per_hour_usd ?? 0) / (virtual?.cost_per_hour_usd ?? 0)
        expect([1, 1.1]).toContain(Math.round(factor * 100) / 100)
        expect(metal?.vcpus).toBe(virtual?.vcpus)
      }
  })

  it('have a date', () => {
    expect(PRICES_AS_OF).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    expect(DISK_USD_PER_GB_MONTH).toBe(0.08)
  })
})

const imported = (instance_type: string | null, more = {}) =>
  aWorker({ origin: 'DISCOVERY', template_name: 'imported', cost_per_hour_usd: 0, instance_type, ...more })
const factsOf = (worker: ReturnType<typeof aWorker>, facts: RegionFacts = {}) => {
  const { cost_per_hour_usd, capacity, disk } = withMachineFacts(worker, facts)
  return { cost_per_hour_usd, declared: capacity.declared, disk }
}

describe('an imported worker', () => {
  it('has the sizes and the price of its type, less what CML needs', () => {
    expect(factsOf(imported('m5zn.metal'))).toEqual({
      cost_per_hour_usd: 3.9641,
      declared: { cpu_cores: 48, memory_gb: 184, storage_gb: null, max_nodes: 192 },
      disk: null,
    })
    expect(factsOf(imported('m8i.4xlarge')).declared).toMatchObject({ cpu_cores: 16, memory_gb: 60 })
  })

  it('has a capacity that a template could have, whatever its type', () => {
    for (const type of INSTANCE_TYPES.keys()) {
      const { declared } = factsOf(imported(type))
      expect(Capacity.omit({ storage_gb: true }).safeParse(declared).success).toBe(true)
    }
  })

  it.each([null, 'q9.metal'])('of type %s has neither', type => {
    expect(factsOf(imported(type))).toEqual({ cost_per_hour_usd: null, declared: null, disk: null })
  })

  it('has the price of its region in the regions file', () => {
    const facts = { 'us-east-1': { instance_types: { 'm5zn.metal': { cost_per_hour_usd: 3 } } } }
    expect(factsOf(imported('m5zn.metal'), facts)).toMatchObject({ cost_per_hour_usd: 3, declared: { cpu_cores: 48 } })
    expect(factsOf(imported('m5zn.metal', { aws_region: 'eu-west-1' }), facts).cost_per_hour_usd).toBe(3.9641)
  })

  it('of a type that only the regions file knows has its figures', () => {
    const sized = { 'q9.metal': { vcpus: 10, memory_gb: 100 } }
    expect(factsOf(imported('q9.metal'), { 'us-east-1': { instance_types: sized } })).toMatchObject({
      cost_per_hour_usd: null,
      declared: { cpu_cores: 10, max_nodes: 40 },
    })
    const priced = { 'q9.metal': { cost_per_hour_usd: 1 } }
    expect(factsOf(imported('q9.metal'), { 'us-east-1': { instance_types: priced } })).toMatchObject({
      cost_per_hour_usd: 1,
      declared: null,
    })
  })
})

describe('a worker of a template', () => {
  const ours = aWorker({ instance_type: 'm5.metal', cost_per_hour_usd: 3.5, launch: anAttempt() })

  it('keeps the figures of its template', () => {
    expect(factsOf(ours)).toMatchObject({ cost_per_hour_usd: 3.5, declared: ours.capacity.declared })
  })

  it('has the price of its disk, from its launch on', () => {
    expect(factsOf(ours).disk).toEqual({ gb: 64, usd_per_hour: (64 * 0.08) / 730 })
    expect(factsOf({ ...ours, launch: null }).disk).toBeNull()
    expect(factsOf(ours, { 'us-east-1': { disk_usd_per_gb_month: 0.1 } }).disk?.usd_per_hour).toBe(6.4 / 730)
  })

  it('is the same when the facts are applied again', () => {
    expect(withMachineFacts(withMachineFacts(ours, {}), {})).toEqual(withMachineFacts(ours, {}))
  })
})

describe('the regions file', () => {
  const region = (more: object) => RegionConfig.safeParse({ subnets: ['subnet-1'], ...more })

  it.each([
    [{ 'm5.metal': { cost_per_hour_usd: -1 } }, 'instance_types.m5.metal.cost_per_hour_usd'],
    [{ 'm5.metal': { vcpus: 0.5 } }, 'instance_types.m5.metal.vcpus'],
    [{ 'm5.metal': { price: 4 } }, 'instance_types.m5.metal'],
  ])('names the field that is wrong in %j', (instance_types, path) => {
    expect(region({ instance_types }).error?.issues.map(issue => issue.path.join('.'))).toEqual([path])
  })

  it('may leave prices out', () => {
    expect(region({}).success).toBe(true)
    expect(
      region({ instance_types: { 'm5.metal': { cost_per_hour_usd: 5.136 } }, disk_usd_per_gb_month: 0.088 }).success,
    ).toBe(true)
  })
})
