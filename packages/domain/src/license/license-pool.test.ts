import { expect, it } from 'vitest'
import { freeSeatsFor, freeSeatsOf, NO_POOLS, PooledProduct, seatCount } from './license-pool.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const seat = { worker_name: 'one', since: NOW, worker_version: 1, leak_id: null }
const pool = (seats: number, ...ids: string[]) => ({ seats, taken: Object.fromEntries(ids.map(id => [id, seat])) })

it('counts the seats of a pool, and never less than none', () => {
  expect(seatCount(pool(3, 'w-1', 'w-2'))).toEqual({ total: 3, free: 1 })
  expect(seatCount(pool(1, 'w-1', 'w-2'))).toEqual({ total: 1, free: 0 })
})

it('limits the machines of a product with a pool, and no others', () => {
  const licenses = freeSeatsOf([{ product: 'CML_Enterprise', free: 2 }])
  expect(freeSeatsFor('CML_Enterprise', licenses)).toBe(2)
  expect(freeSeatsFor('CML_Personal', licenses)).toBe(Number.POSITIVE_INFINITY)
  expect(freeSeatsFor(null, licenses)).toBe(Number.POSITIVE_INFINITY)
  expect(freeSeatsFor('CML_Enterprise', NO_POOLS)).toBe(Number.POSITIVE_INFINITY)
})

it.each(['CML_Enterprise', 'CML-2.9'])('accepts the product %s', product => {
  expect(PooledProduct.safeParse(product).success).toBe(true)
})

it.each(['', '../x', 'a b', '.', 'x'.repeat(65)])('refuses the product %j', product => {
  expect(PooledProduct.safeParse(product).success).toBe(false)
})
