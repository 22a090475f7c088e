import fc from 'fast-check'
import { expect, it } from 'vitest'
import { indexedHeap, NOT_IN_HEAP } from './indexed-heap.ts'

const aHeap = () => indexedHeap<{ at: number; slot: number }>((a, b) => a.at < b.at)

it('returns pushed items that were not removed, smallest first', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat(50), isRemoved: fc.boolean() }), { maxLength: 60, size: 'max' }),
      pushed => {
        const heap = aHeap()
        const items = pushed.map(({ at }) => ({ at, slot: NOT_IN_HEAP }))
        for (const item of items) heap.push(item)
        pushed.forEach(({ isRemoved }, index) => {
          const item = items[index]
          if (isRemoved && item) heap.remove(item)
        })
        const popped: number[] = []
        for (let first = heap.peek(); first; first = heap.peek()) {
          popped.push(first.at)
          heap.remove(first)
        }
        const expected = pushed.filter(({ isRemoved }) => !isRemoved).map(({ at }) => at)
        expect(popped).toEqual(expected.sort((a, b) => a - b))
      },
    ),
  )
})

it('ignores the removal of an item that is not inside', () => {
  const heap = aHeap()
  const item = { at: 1, slot: NOT_IN_HEAP }
  heap.push(item)
  heap.push({ at: 2, slot: NOT_IN_HEAP })
  heap.remove(item)
  heap.remove(item)
  expect(heap.size).toBe(1)
  expect(heap.peek()?.at).toBe(2)
})

it('releases all items when cleared', () => {
  const heap = aHeap()
  const item = { at: 1, slot: NOT_IN_HEAP }
  heap.push(item)
  heap.clear()
  expect([heap.size, item.slot]).toEqual([0, NOT_IN_HEAP])
})
