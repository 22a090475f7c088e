import { expect, it } from 'vitest'
import { rowSlots } from './row-recycling.ts'

it('keeps the slots of remaining rows, and reuses free slots', () => {
  const slots = rowSlots()
  expect(slots.of(['a', 'b', 'c'])).toEqual([0, 1, 2])
  expect(slots.of(['b', 'c', 'd'])).toEqual([1, 2, 0])
  expect(slots.of(['d', 'c', 'b'])).toEqual([0, 2, 1])
})

it('needs no more slots than there are rows', () => {
  const slots = rowSlots()
  for (let first = 0; first < 100; first += 3) {
    const given = slots.of(Array.from({ length: 10 }, (_, n) => `w-${first + n}`))
    expect(given.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  }
})
