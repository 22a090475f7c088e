/** Holds `capacity` at most and gains `perSecond`. */
export interface BucketLimit {
  readonly capacity: number
  readonly perSecond: number
}

/** How much there was at an instant. Below nothing when more was taken than there was. */
export interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Sums of fractions miss whole numbers by a hair, and a hair must not cost another wait. */
const HAIR = 1e-6

export const fullBucket = ({ capacity }: BucketLimit, nowMs: number): Bucket => ({ tokens: capacity, atMs: nowMs })

/** A time before the last one adds nothing. */
export function refilled(limit: BucketLimit, { tokens, atMs }: Bucket, nowMs: number): Bucket {
  const gained = (Math.max(0, nowMs - atMs) / 1000) * limit.perSecond
  return { tokens: Math.min(limit.capacity, tokens + gained), atMs: Math.max(atMs, nowMs) }
}

/** Takes them also when there are not as many: what was spent unasked is missing afterwards. */
export function spent(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): Bucket {
  const { tokens, atMs } = refilled(limit, bucket, nowMs)
  return { tokens: tokens - cost, atMs }
}

/**
 * Whole milliseconds until that many have come; 0 when they are there now. A sum of several costs may be beyond the capacity: the
 * first of them are spent before the last is due.
 */
export function msUntil(limit: BucketLimit, bucket: Bucket, { cost, nowMs }: { cost: number; nowMs: number }): number {
  const { tokens } = refilled(limit, bucket, nowMs)
  const lacking = cost - tokens
  return lacking <= HAIR ? 0 : Math.ceil((lacking / limit.perSecond) * 1000)
}
