import { expect, it } from 'vitest'
import { groupedLosses } from './grouped-losses.ts'

const lost = (id: string, more: object = {}) => ({ id, definition: 'bgp', owner_name: 'Ann', start: 'monday', ...more })

it('has one line for the sessions of one booking, in their order', () => {
  const others = [lost('b', { start: 'tuesday' }), lost('c', { owner_name: 'Bob' }), lost('d', { definition: 'ospf' })]
  const groups = groupedLosses([lost('a'), ...others, lost('e')])
  expect(groups.map(({ ids }) => ids)).toEqual([['a', 'e'], ['b'], ['c'], ['d']])
  expect(groups[0]).toEqual({ definition: 'bgp', owner_name: 'Ann', start: 'monday', ids: ['a', 'e'] })
})
