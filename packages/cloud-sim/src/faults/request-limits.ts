import { Ec2Refusal } from '../ec2/refusal.ts'

/** A token bucket: its capacity and its refill per second. */
interface Bucket {
  readonly size: number
  readonly per_second: number
}

interface Limits {
  readonly requests: Bucket
  /** Number of machines that the call names or launches. */
  readonly resources?: Bucket
}

const bucket = (size: number, per_second: number): Bucket => ({ size, per_second })

const DESCRIBE: Limits = { requests: bucket(100, 20) }
const DESCRIBE_UNFILTERED: Limits = { requests: bucket(50, 10) }
const MUTATE: Limits = { requests: bucket(50, 5) }
const SCARCE_STARTS: Limits = { requests: bucket(5, 2), resources: bucket(1000, 2) }

const LIMITS: Readonly<Record<string, Limits>> = {
  RunInstances: SCARCE_STARTS,
  StartInstances: SCARCE_STARTS,
  StopInstances: { requests: bucket(50, 5), resources: bucket(1000, 20) },
  TerminateInstances: { requests: bucket(100, 5), resources: bucket(1000, 20) },
  CreateTags: { requests: bucket(100, 10) },
  DeleteTags: { requests: bucket(100, 10) },
  GetMetricData: { requests: bucket(50, 50) },
}

/** Cheap only with a filter or a page size; ids alone don't qualify. */
const DEAR_UNFILTERED: readonly string[] = ['DescribeInstances', 'DescribeInstanceStatus']

export interface CallCost {
  readonly region: string
  readonly action: string
  readonly resources: number
  /** Whether a Describe call has filters or a page size. */
  readonly narrowed: boolean
}

export interface RequestLimits {
  /** Takes the tokens of the call, or rejects it and takes none. */
  take(cost: CallCost): void
}

interface Level {
  readonly tokens: number
  readonly at_ms: number
}

/** EC2's published limits per account, region and action, independent of the simulation's speed. */
export function requestLimits(now: () => number): RequestLimits {
  const levels = new Map<string, Level>()
  return {
    take(cost) {
      const nowMs = now()
      const wanted = bucketsOf(cost).map(({ key, bucket, tokens }) => ({
        key,
        left: level(levels.get(key), bucket, nowMs) - Math.min(tokens, bucket.size),
      }))
      if (wanted.some(({ left }) => left < 0)) throw new Ec2Refusal('RequestLimitExceeded', EXCEEDED, 503)
      for (const { key, left } of wanted) levels.set(key, { tokens: left, at_ms: nowMs })
    },
  }
}

const EXCEEDED = 'Request limit exceeded.'

function bucketsOf({ region, action, resources, narrowed }: CallCost) {
  const dear = DEAR_UNFILTERED.includes(action) && !narrowed
  const limits = LIMITS[action] ?? (isRead(action) ? (dear ? DESCRIBE_UNFILTERED : DESCRIBE) : MUTATE)
  const key = `${region} ${action}${dear ? ' unfiltered' : ''}`
  const requests = { key, bucket: limits.requests, tokens: 1 }
  if (!limits.resources) return [requests]
  return [requests, { key: `${key} resources`, bucket: limits.resources, tokens: resources }]
}

const isRead = (action: string) => /^(Describe|Get|List)/.test(action)

function level(last: Level | undefined, { size, per_second }: Bucket, nowMs: number): number {
  if (!last) return size
  const elapsedS = Math.max(0, nowMs - last.at_ms) / 1000
  return Math.min(size, last.tokens + elapsedS * per_second)
}
