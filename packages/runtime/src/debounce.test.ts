import { expect, it } from 'vitest'
import { leadingEdge } from './debounce.ts'

it('lets a quiet key through at once', () => {
  const delayOf = leadingEdge(500)
  expect(delayOf('w-1', 0)).toBe(0)
  expect(delayOf('w-1', 500)).toBe(0)
})

it('folds a burst into the end of the window that its first event opened', () => {
  const delayOf = leadingEdge(500)
  const turns = [0, 100, 200, 499].map(now => now + delayOf('w-1', now))
  expect(turns).toEqual([0, 500, 500, 500])
})

it('gives a key that is never quiet one turn per window', () => {
  const delayOf = leadingEdge(500)
  const turns = new Set<number>()
  for (let now = 0; now < 5_000; now += 50) turns.add(now + delayOf('w-1', now))
  expect([...turns]).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000])
})

it('keeps keys apart', () => {
  const delayOf = leadingEdge(500)
  delayOf('w-1', 0)
  expect(delayOf('w-2', 100)).toBe(0)
})

it('lets everything through when the window is zero', () => {
  const delayOf = leadingEdge(0)
  expect([delayOf('w-1', 0), delayOf('w-1', 0), delayOf('w-1', 1)]).toEqual([0, 0, 0])
})
