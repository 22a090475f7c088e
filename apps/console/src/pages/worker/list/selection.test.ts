import { expect, it } from 'vitest'
import { allToggled, toggled, withRange } from './selection.ts'

const ids = ['a', 'b', 'c', 'd']

it('ticks and unticks', () => {
  expect([...toggled(new Set(['a']), 'b')]).toEqual(['a', 'b'])
  expect([...toggled(new Set(['a', 'b']), 'a')]).toEqual(['b'])
})

it('ticks a range in either direction', () => {
  expect([...withRange(new Set(), ids, 'b', 'd')]).toEqual(['b', 'c', 'd'])
  expect([...withRange(new Set(['a']), ids, 'd', 'c')]).toEqual(['a', 'c', 'd'])
})

it('ticks only one when the range has no start', () => {
  expect([...withRange(new Set(), ids, null, 'c')]).toEqual(['c'])
  expect([...withRange(new Set(), ids, 'gone', 'c')]).toEqual(['c'])
})

it('ticks all that are shown, then none', () => {
  expect([...allToggled(new Set(['a', 'hidden']), ids)]).toEqual(ids)
  expect([...allToggled(new Set(ids), ids)]).toEqual([])
})
