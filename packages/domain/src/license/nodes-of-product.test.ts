import { aTemplate } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { reason } from '../reason.ts'
import { nodesOfProduct, oversizedFor } from './nodes-of-product.ts'

const capacity = { cpu_cores: 48, memory_gb: 184, storage_gb: 150, max_nodes: 200 }
const METAL = aTemplate({ instance_types: ['m5zn.metal'], capacity, cost_per_hour_usd: 3.9641 })
const NESTED = aTemplate({
  instance_types: ['m8i.4xlarge'],
  capacity: { ...capacity, max_nodes: 60 },
  cost_per_hour_usd: 0.8467,
})

it('knows the nodes of each product', () => {
  expect([nodesOfProduct('CML_Enterprise'), nodesOfProduct('CML_Personal40')]).toEqual([20, 40])
  expect([nodesOfProduct('CML_Other'), nodesOfProduct(null)]).toEqual([null, null])
})

it('names a smaller machine where a license includes fewer nodes than the machine holds', () => {
  const params = { product: 'CML_Enterprise', nodes: 20, declared: 200, instance_type: 'm8i.4xlarge' }
  const because = reason('license_smaller_than_machine', params)
  expect(oversizedFor({ ...METAL, license_product: 'CML_Enterprise' })).toEqual(because)
})

it.each([
  ['the smallest machine', { ...NESTED, license_product: 'CML_Enterprise' }],
  ['a machine that costs no more', { ...METAL, cost_per_hour_usd: 0.5, license_product: 'CML_Enterprise' }],
  ['a machine without a product', { ...METAL, license_product: null }],
  ['a product that LCM does not know', { ...METAL, license_product: 'CML_Simulated' }],
  [
    'a machine that the license fills',
    { ...METAL, capacity: { ...capacity, max_nodes: 20 }, license_product: 'CML_Enterprise' },
  ],
])('says nothing about %s', (_, template) => {
  expect(oversizedFor(template)).toBeNull()
})
