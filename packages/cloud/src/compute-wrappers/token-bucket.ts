/** Holds at most `capacity` tokens and gains `perSecond`. */
export interface BucketLimit {
  readonly capacity: number
  readonly perSecond: number
}

/** Tokens at an instant. Negative after an overdraft. */
export interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Tolerance for rounding errors of fractions, which must not cost another wait. */
const TOLERANCE = 1e-6

export const fullBucket = ({ capacity }: BucketLimit, nowMs: number): Bucket => ({ tokens: capacity, atMs: nowMs })

/** Time that goes backward adds nothing. */
export function refill(limit: BucketLimit, { tokens, atMs }: Bucket, nowMs: number): Bucket {
  const gained = (Math.max(0, nowMs - atMs) / 1000) * limit.perSecond
  return { tokens: Math.min(limit.capacity, tokens + gained), atMs: Math.max(atMs, nowMs) }
}

/** Spends even when there are too few tokens: the bucket goes negative. */
export function spend(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): Bucket {
  const { tokens, atMs } = refill(limit, bucket, nowMs)
  return { tokens: tokens - cost, atMs }
}

/**
 * Whole milliseconds until the cost is covered; 0 when it is now. The sum of several costs may exceed the capacity: the
 * first are spent before the last is due.
 */
export function msUntil(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): number {
  const { tokens } = refill(limit, bucket, nowMs)
  const lacking = cost - tokens
  return lacking <= TOLERANCE ? 0 : Math.ceil((lacking / limit.perSecond) * 1000)
}
