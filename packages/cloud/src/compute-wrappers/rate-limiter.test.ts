import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bucket, fullBucket, msUntil, refill, spend } from './rate-limiter.ts'

const limits = fc.record({
  capacity: fc.integer({ min: 1, max: 1000 }),
  perSecond: fc.double({ min: 0.1, max: 100, noNaN: true }),
})
const steps = fc.array(fc.record({ waitMs: fc.nat(5000), cost: fc.integer({ min: 1, max: 10 }) }), { maxLength: 50 })

describe('a token bucket', () => {
  it('never spends more than its initial tokens and those gained since', () => {
    fc.assert(
      fc.property(limits, steps, (limit, asked) => {
        let bucket = fullBucket(limit, 0)
        let nowMs = 0
        let passed = 0
        for (const { waitMs, cost } of asked) {
          nowMs += waitMs
          if (msUntil(limit, bucket, { cost, nowMs }) > 0 || cost > limit.capacity) continue
          bucket = spend(limit, bucket, { cost, nowMs })
          passed += cost
          expect(passed).toBeLessThanOrEqual(limit.capacity + (nowMs / 1000) * limit.perSecond + 1e-3)
        }
      }),
    )
  })

  it('has enough after the wait that it named, and not two milliseconds before', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 2000 }), (limit, asked, taken) => {
        const cost = Math.min(asked, limit.capacity)
        const bucket = spend(limit, fullBucket(limit, 0), { cost: taken, nowMs: 0 })
        const waitMs = msUntil(limit, bucket, { cost, nowMs: 0 })
        expect(msUntil(limit, bucket, { cost, nowMs: waitMs })).toBe(0)
        if (waitMs > 2) expect(msUntil(limit, bucket, { cost, nowMs: waitMs - 2 })).toBeGreaterThan(0)
      }),
    )
  })

  it('holds no more than its capacity, and gains nothing when time goes back', () => {
    fc.assert(
      fc.property(limits, fc.nat(1000), fc.nat(1_000_000), (limit, cost, ms) => {
        const bucket: Bucket = spend(limit, fullBucket(limit, 1_000_000), { cost, nowMs: 1_000_000 })
        expect(refill(limit, bucket, 1_000_000 + ms).tokens).toBeLessThanOrEqual(limit.capacity)
        expect(refill(limit, bucket, 1_000_000 - ms)).toEqual(bucket)
      }),
    )
  })

  it('repays an overdraft', () => {
    const limit = { capacity: 10, perSecond: 2 }
    const bucket = spend(limit, fullBucket(limit, 0), { cost: 50, nowMs: 0 })
    expect(msUntil(limit, bucket, { cost: 1, nowMs: 0 })).toBe(20_500)
  })
})
