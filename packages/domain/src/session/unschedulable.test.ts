import { expect, it } from 'vitest'
import { unschedulable, unschedulableBecause } from './unschedulable.ts'

it('is told from what may come by itself', () => {
  expect(unschedulableBecause(unschedulable('no template can hold it'))).toBe('no template can hold it')
  expect([null, 'no room: it is unschedulable: no'].map(unschedulableBecause)).toEqual([null, null])
})
