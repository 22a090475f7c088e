import type { PowerAct } from './compute.ts'
import type { BucketLimit } from './token-bucket.ts'

/** What EC2 counts by itself: requests, and for changes also the machines that they name. */
export interface ActionLimits {
  readonly requests: BucketLimit
  readonly resources: BucketLimit | null
  /** Calls under way at once, where slow ones could take every connection; null where callers are gathered anyway. */
  readonly inFlightMax: number | null
}

export type LimitedRead = 'list' | 'describe' | 'images'
export type LimitedChange = 'terminate' | 'stop' | 'start' | 'launch' | 'tag'

/** The account is shared with consoles and other tools, so a fifth of it is left to them. */
const SHARE = 0.8

const bucket = (burst: number, perSecond: number): BucketLimit => ({
  capacity: burst * SHARE,
  perSecond: perSecond * SHARE,
})

/** What EC2 publishes for an account in a region. A listing has a filter; asking by id alone has none. */
export const READ_LIMITS: Readonly<Record<LimitedRead, ActionLimits>> = {
  list: { requests: bucket(100, 20), resources: null, inFlightMax: null },
  describe: { requests: bucket(50, 10), resources: null, inFlightMax: null },
  images: { requests: bucket(100, 20), resources: null, inFlightMax: null },
}

/** Each has limits of its own, so a stop never waits for a launch. */
export const CHANGE_LIMITS: Readonly<Record<LimitedChange, ActionLimits>> = {
  terminate: { requests: bucket(100, 5), resources: bucket(1000, 20), inFlightMax: null },
  stop: { requests: bucket(50, 5), resources: bucket(1000, 20), inFlightMax: null },
  start: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: null },
  launch: { requests: bucket(5, 2), resources: bucket(1000, 2), inFlightMax: 8 },
  tag: { requests: bucket(100, 10), resources: null, inFlightMax: null },
}

export const LIMIT_OF_ACT: Readonly<Record<PowerAct, LimitedChange>> = {
  start: 'start',
  stop: 'stop',
  force_stop: 'stop',
  terminate: 'terminate',
}
