import { expect, it } from 'vitest'
import { leadingEdge } from './debounce.ts'

/** When each event of one key has its turn. */
function turnsOf(times: readonly number[], windowMs = 500) {
  const debounce = leadingEdge(windowMs)
  return times.map(now => now + debounce.delayMs('w-1', now))
}

it('lets a quiet key through at once', () => {
  expect(turnsOf([0, 500, 1_200])).toEqual([0, 500, 1_200])
})

it('folds a burst into the end of the window that its first event opened', () => {
  expect(turnsOf([0, 0, 100, 200, 499])).toEqual([0, 500, 500, 500, 500])
})

it('gives a key that is never quiet one turn per window', () => {
  const times = Array.from({ length: 100 }, (_, index) => index * 50)
  expect([...new Set(turnsOf(times))]).toEqual([0, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000])
})

it('keeps keys apart', () => {
  const debounce = leadingEdge(500)
  debounce.delayMs('w-1', 0)
  expect(debounce.delayMs('w-2', 100)).toBe(0)
})

it('lets everything through when the window is zero', () => {
  expect(turnsOf([0, 0, 1], 0)).toEqual([0, 0, 1])
})

it('remembers no key for longer than it must, whatever the others do', () => {
  const debounce = leadingEdge(500)
  for (let now = 0; now < 100_000; now += 10) {
    debounce.delayMs('busy', now)
    debounce.delayMs(`once-${now}`, now)
  }
  expect(debounce.size).toBeLessThan(110)
})
