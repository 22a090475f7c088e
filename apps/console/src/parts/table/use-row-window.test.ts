import { describe, expect, it } from 'vitest'
import { rowWindow, steppedPx } from './use-row-window.ts'

describe('the rows that exist', () => {
  it('are all of them in a short list', () => {
    expect(rowWindow(10, 50, 0, 800)).toEqual({ first: 0, end: 10 })
    expect(rowWindow(0, 50, 0, 800)).toEqual({ first: 0, end: 0 })
  })

  it('cover the viewport wherever it is, and never many more', () => {
    for (const scrolledPx of [-200, 0, 25, 12_345, 499_200, 900_000]) {
      const { first, end } = rowWindow(10_000, 50, scrolledPx, 800)
      const firstSeen = Math.min(Math.max(0, Math.floor(scrolledPx / 50)), 10_000 - 16)
      expect(first).toBeLessThanOrEqual(firstSeen)
      expect(end).toBeGreaterThanOrEqual(Math.min(10_000, firstSeen + 17))
      expect(end - first).toBeLessThan(40)
    }
  })

  it('cover the viewport between two steps, too', () => {
    for (let scrolledPx = 0; scrolledPx < 2_000; scrolledPx += 7) {
      const { first, end } = rowWindow(10_000, 50, steppedPx(scrolledPx, 50), 800)
      expect(first * 50).toBeLessThanOrEqual(scrolledPx)
      expect(end * 50).toBeGreaterThanOrEqual(scrolledPx + 800)
    }
  })
})
