import { expect, it } from 'vitest'
import { boundedMap } from './bounded-map.ts'

it('forgets the oldest when it is full', () => {
  const map = boundedMap<number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([3, undefined, 4])
  map.delete('a')
  expect([map.get('a'), map.get('c')]).toEqual([undefined, 4])
  map.clear()
  expect(map.get('c')).toBeUndefined()
})
