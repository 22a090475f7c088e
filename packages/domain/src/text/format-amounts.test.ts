import { describe, expect, it } from 'vitest'
import { countText, durationText, usdText } from './format-amounts.ts'

describe('amounts', () => {
  it('show durations in the two largest units', () => {
    const texts = [-5_000, 0, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000].map(durationText)
    expect(texts).toEqual(['0s', '0s', '59s', '1m 00s', '59m 59s', '1h 00m', '1d 1h'])
  })

  it('show counts with their noun and money in dollars', () => {
    expect([countText(1, 'worker'), countText(0, 'worker')]).toEqual(['1 worker', '0 workers'])
    expect(usdText(1234.5)).toBe('$1,234.50')
  })
})
