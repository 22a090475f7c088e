import { expect, it } from 'vitest'
import { answerMemory } from './buffer-pool.ts'

it('is used again once it was given back, and only then', () => {
  const memory = answerMemory()
  const [first, second] = [memory.take(1000), memory.take(1000)]
  expect(first.buffer).not.toBe(second.buffer)
  memory.giveBack(first)
  expect(memory.take(900)).toBe(first)
  expect(memory.take(900)).not.toBe(first)
})

it('is always as much as was asked for', () => {
  const memory = answerMemory()
  memory.giveBack(memory.take(1000))
  expect(memory.take(10_000_000).length).toBeGreaterThanOrEqual(10_000_000)
})

it('is kept up to a limit', () => {
  const memory = answerMemory(200_000)
  const all = [1, 2, 3, 4].map(() => memory.take(60_000))
  for (const each of all) memory.giveBack(each)
  const again = [1, 2, 3, 4].map(() => memory.take(60_000))
  expect(again.filter(each => all.includes(each)).length).toBe(3)
  for (const each of again) memory.giveBack(each)
  expect(all).toContain(memory.take(60_000))
})
