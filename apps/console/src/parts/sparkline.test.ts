import { expect, it } from 'vitest'
import { sparkPath } from './sparkline.tsx'

it('spans the full width, with the highest value at the top', () => {
  expect(sparkPath([0, 50, 100], 100)).toBe('M0.0 17.0L32.0 9.0L64.0 1.0')
})

it('interrupts the line at missing values and clips high ones', () => {
  expect(sparkPath([0, null, 900], 100)).toBe('M0.0 17.0M64.0 1.0')
  expect(sparkPath([], 100)).toBe('')
})
