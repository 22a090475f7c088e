import { expect, it } from 'vitest'
import { exponentialBackoff } from './backoff.ts'

const firstEight = (backoff: (retries: number) => number) => Array.from({ length: 8 }, (_, retries) => backoff(retries))

it('waits 1, 2, 4, 8, 16, 32 and then 60 seconds by default', () => {
  expect(firstEight(exponentialBackoff())).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
})

it('stays at its maximum however many failures there were', () => {
  expect(exponentialBackoff()(5_000)).toBe(60_000)
})

it('takes base, multiplier and maximum from its options', () => {
  const backoff = exponentialBackoff({ baseMs: 10, multiplier: 3, maxMs: 100 })
  expect(firstEight(backoff).slice(0, 4)).toEqual([10, 30, 90, 100])
})

it('jitters downwards only, by at most the given share', () => {
  const most = exponentialBackoff({ jitter: 0.2, random: () => 1 })
  const least = exponentialBackoff({ jitter: 0.2, random: () => 0 })
  expect([most(0), least(0), most(9), least(9)]).toEqual([800, 1_000, 48_000, 60_000])
})
