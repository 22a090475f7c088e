import { expect, it } from 'vitest'
import { lonePoints } from './chart.tsx'

it('finds isolated points: values without a known neighbor', () => {
  expect(lonePoints([1, null, 2, 3, null, 0])).toEqual([0, 5])
  expect(lonePoints([null, 7, null])).toEqual([1])
  expect(lonePoints([1, 2, 3])).toEqual([])
})
