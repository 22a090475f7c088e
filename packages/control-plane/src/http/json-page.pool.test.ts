import { expect, it } from 'vitest'
import { bufferPool } from './json-page.ts'

it('is reused after its release only', () => {
  const memory = bufferPool()
  const [first, second] = [memory.take(1000), memory.take(1000)]
  expect(first.buffer).not.toBe(second.buffer)
  memory.release(first)
  expect(memory.take(900)).toBe(first)
  expect(memory.take(900)).not.toBe(first)
})

it('has at least the requested size', () => {
  const memory = bufferPool()
  memory.release(memory.take(1000))
  expect(memory.take(10_000_000).length).toBeGreaterThanOrEqual(10_000_000)
})

it('is kept up to a limit', () => {
  const memory = bufferPool(200_000)
  const all = [1, 2, 3, 4].map(() => memory.take(60_000))
  for (const each of all) memory.release(each)
  const again = [1, 2, 3, 4].map(() => memory.take(60_000))
  expect(again.filter(each => all.includes(each)).length).toBe(3)
  for (const each of again) memory.release(each)
  expect(all).toContain(memory.take(60_000))
})
