import { expect, it } from 'vitest'
import { raiseFence } from './fencing.ts'

it('lets an epoch write that is not older than any before it', () => {
  expect(raiseFence({}, 'wc', 3)).toEqual({ wc: 3 })
  expect(raiseFence({ wc: 3 }, 'wc', 3)).toEqual({ wc: 3 })
  expect(raiseFence({ wc: 3, other: 9 }, 'wc', 4)).toEqual({ wc: 4, other: 9 })
})

it('refuses an older one, whatever other services did', () => {
  expect(raiseFence({ wc: 3, other: 1 }, 'wc', 2)).toBeNull()
})
