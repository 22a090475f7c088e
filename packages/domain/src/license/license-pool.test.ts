import { expect, it } from 'vitest'
import { LicensePool, licenseSeatsOf, NO_POOLS, PooledProduct, seatsFor } from './license-pool.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const seat = { worker_name: 'one', since: NOW, worker_version: 1, leak_id: null }
const pool = (seats: number, ...ids: string[]) =>
  LicensePool.parse({
    id: 'lp-1',
    version: 1,
    created_at: NOW,
    updated_at: NOW,
    product: 'CML_Enterprise',
    seats,
    taken: Object.fromEntries(ids.map(id => [id, seat])),
  })

it('counts the seats of each product, leaked ones included', () => {
  const licenses = licenseSeatsOf([pool(3, 'w-1', 'w-2')])
  expect(licenses.get('CML_Enterprise')).toEqual({ total: 3, free: 1 })
  expect(seatsFor('CML_Enterprise', licenses)).toBe(1)
})

it('never counts less than no seat', () => {
  expect(licenseSeatsOf([pool(1, 'w-1', 'w-2')]).get('CML_Enterprise')).toEqual({ total: 1, free: 0 })
})

it('does not limit a machine without a product, or of a product without a pool', () => {
  expect(seatsFor(null, licenseSeatsOf([pool(1, 'w-1')]))).toBe(Number.POSITIVE_INFINITY)
  expect(seatsFor('CML_Enterprise', NO_POOLS)).toBe(Number.POSITIVE_INFINITY)
})

it.each(['CML_Enterprise', 'CML-2.9'])('accepts the product %s', product => {
  expect(PooledProduct.safeParse(product).success).toBe(true)
})

it.each(['', '../x', 'a b', '.', 'x'.repeat(65)])('refuses the product %j', product => {
  expect(PooledProduct.safeParse(product).success).toBe(false)
})
