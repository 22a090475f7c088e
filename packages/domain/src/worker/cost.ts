import { type Instant, toMs } from '../instant.ts'
import type { BootCondition } from './boot-stages.ts'
import { CONDITION, holds, type Worker } from './worker.ts'
import type { CostCause } from './worker-field-schemas.ts'

const HOUR_MS = 3_600_000
const INSTANCE_RUNNING: BootCondition = 'InstanceRunning'

/** The cause and the costs of one interval of a worker. */
export interface CostInterval {
  readonly status: Worker['status']
  readonly cause: CostCause
  readonly from: Instant
  readonly to: Instant
  readonly usd: number
  /** The costs that a stop by a policy has saved. */
  readonly saved_usd: number
}

/** The cause of the worker's costs, or null while it has none. EC2 bills a running machine. */
export function costCauseOf(worker: Worker): CostCause | null {
  switch (worker.status) {
    case 'STARTING':
      return holds(worker.conditions, CONDITION.blocked) ? 'stopped' : 'boot'
    case 'RUNNING':
      return Object.keys(worker.reservations).length > 0 ? 'session' : 'idle'
    case 'DRAINING':
    case 'TERMINATING':
      return worker.ec2_instance_id === null ? null : 'drain'
    case 'FAILED':
    case 'UNKNOWN':
      if (worker.ec2_instance_id === null) return null
      return holds(worker.conditions, CONDITION.stoppedAfterFailure) ? 'stopped' : 'failed'
    case 'STOPPING':
      // A stop may be refused, or wait for the return of a license.
      return holds(worker.conditions, INSTANCE_RUNNING) ? 'drain' : null
    case 'STOPPED':
      return 'stopped'
    default:
      return null
  }
}

const isStoppedByPolicy = (worker: Worker): boolean => worker.status === 'STOPPED' && worker.pause.reason !== null

/** The interval that ends when `before` becomes `after`, and the billing from then on. Null when the same one goes on. */
export function closeCost(
  before: Worker,
  after: Worker,
  now: Instant,
): { interval: CostInterval | null; billing: Worker['billing'] } | null {
  const cause = costCauseOf(after)
  const goesOn = before.status === after.status && isStoppedByPolicy(before) === isStoppedByPolicy(after)
  if (cause === before.billing.cause && (goesOn || cause === null)) return null
  const interval = intervalOf(before, now)
  const closed_usd = before.billing.closed_usd + (interval?.usd ?? 0)
  return { interval, billing: { since: cause === null ? null : now, cause, closed_usd } }
}

/** The open interval as if it ended now. */
export function intervalOf(worker: Worker, now: Instant): CostInterval | null {
  const { since, cause } = worker.billing
  if (since === null || cause === null) return null
  const usd = (worker.cost_per_hour_usd * Math.max(0, toMs(now) - toMs(since))) / HOUR_MS
  const stopped = cause === 'stopped'
  return {
    status: worker.status,
    cause,
    from: since,
    to: now,
    usd: stopped ? 0 : usd,
    saved_usd: stopped && isStoppedByPolicy(worker) ? usd : 0,
  }
}

/** The costs of the worker until now, and its current hourly price. */
export function costOf(
  worker: Worker,
  now: Instant,
): { spent_usd: number; per_hour_usd: number; cause: CostCause | null } {
  const open = intervalOf(worker, now)
  const { cause } = worker.billing
  const isBilled = cause !== null && cause !== 'stopped'
  return {
    spent_usd: worker.billing.closed_usd + (open?.usd ?? 0),
    per_hour_usd: isBilled ? worker.cost_per_hour_usd : 0,
    cause,
  }
}
