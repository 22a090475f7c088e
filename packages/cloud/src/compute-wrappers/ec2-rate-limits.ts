import type { PowerAction } from '../compute.ts'
import type { BucketLimit } from './token-bucket.ts'

/** EC2 limits requests, and for changes also the machines that they name. */
export interface ActionLimits {
  readonly requests: BucketLimit
  readonly resources: BucketLimit | null
  /** Concurrent calls, where slow ones could use up all connections; null where calls are batched anyway. */
  readonly inFlightMax: number | null
}

export type LimitedRead = 'list' | 'describe' | 'images'
export type LimitedChange = 'terminate' | 'stop' | 'start' | 'launch' | 'tag'

/** Other tools use the account too, so a fifth is left to them. */
const SHARE = 0.8

const bucket = (burst: number, perSecond: number): BucketLimit => ({
  capacity: burst * SHARE,
  perSecond: perSecond * SHARE,
})

/** EC2's published limits for an account in a region. A list has a filter; a describe by id has none. */
export const READ_LIMITS: Readonly<Record<LimitedRead, ActionLimits>> = {
  list: { requests: bucket(100, 20), resources: null, inFlightMax: null },
  describe: { requests: bucket(50, 10), resources: null, inFlightMax: null },
  images: { requests: bucket(100, 20), resources: null, inFlightMax: null },
}

/** Separate limits per action, so a stop never waits for a launch. */
export const CHANGE_LIMITS: Readonly<Record<LimitedChange, ActionLimits>> = {
  terminate: { requests: bucket(100, 5), resources: bucket(1000, 20), inFlightMax: null },
  stop: { requests: bucket(50, 5), resources: bucket(1000, 20), inFlightMax: null },
  start: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: null },
  launch: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: 8 },
  tag: { requests: bucket(100, 10), resources: null, inFlightMax: null },
}

export const LIMIT_OF_POWER_ACTION: Readonly<Record<PowerAction, LimitedChange>> = {
  start: 'start',
  stop: 'stop',
  force_stop: 'stop',
  terminate: 'terminate',
}
