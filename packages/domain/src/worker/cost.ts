import { type Instant, toMs } from '../instant.ts'
import type { BootCondition } from './boot-stages.ts'
import { isTrusted } from './instance-trust.ts'
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
  /** The costs of the machine, without its disk; 0 while its price is unknown. */
  readonly usd: number
  /** Not in entries of earlier versions. */
  readonly disk_usd?: number
  /** False if the machine had no known price, so that sums lack it. Not in entries of earlier versions. */
  readonly is_price_known?: boolean
  /** The costs that a stop by a policy has saved. A disk costs the same while the machine is stopped. */
  readonly saved_usd: number
}

/** The cause of the worker's costs, or null without a machine. EC2 bills a machine while it runs, and its disk until it is gone. */
export function costCauseOf(worker: Worker): CostCause | null {
  switch (worker.status) {
    case 'STARTING':
      return holds(worker.conditions, CONDITION.blocked) ? 'stopped' : 'boot'
    case 'RUNNING':
      return Object.keys(worker.reservations).length > 0 ? 'session' : 'idle'
    case 'DRAINING':
      return worker.ec2_instance_id === null ? null : 'drain'
    case 'TERMINATING':
      if (worker.ec2_instance_id === null) return null
      // A stopped machine stays stopped, however long AWS refuses its termination, unless it is started to return its license.
      return worker.billing.cause === 'stopped' && !isReturningLicense(worker) ? 'stopped' : 'drain'
    case 'FAILED':
    case 'UNKNOWN':
      if (worker.ec2_instance_id === null) return null
      return holds(worker.conditions, CONDITION.stoppedAfterFailure) ? 'stopped' : 'failed'
    case 'STOPPING':
      // A stop may be refused, or wait for the return of a license.
      return holds(worker.conditions, INSTANCE_RUNNING) ? 'drain' : 'stopped'
    case 'STOPPED':
      return 'stopped'
    case 'PROVISIONING':
      return worker.ec2_instance_id === null ? null : 'stopped'
    default:
      return null
  }
}

const isReturningLicense = (worker: Worker): boolean =>
  isTrusted(worker) && holds(worker.conditions, CONDITION.returningLicense)

const isStoppedByPolicy = (worker: Worker): boolean => worker.status === 'STOPPED' && worker.pause.reason !== null

/** The interval that ends when `before` becomes `after`, and the billing from then on. Null when the same one goes on. */
export function closeCost(
  before: Worker,
  after: Worker,
  now: Instant,
): { interval: CostInterval | null; billing: Worker['billing'] } | null {
  const cause = costCauseOf(after)
  const goesOn =
    before.status === after.status &&
    isStoppedByPolicy(before) === isStoppedByPolicy(after) &&
    before.cost_per_hour_usd === after.cost_per_hour_usd &&
    before.disk?.usd_per_hour === after.disk?.usd_per_hour
  if (cause === before.billing.cause && (goesOn || cause === null)) return null
  const interval = intervalOf(before, now)
  const closed_usd = before.billing.closed_usd + (interval === null ? 0 : totalUsd(interval))
  return { interval, billing: { since: cause === null ? null : now, cause, closed_usd } }
}

/** The open interval as if it ended now. */
export function intervalOf(worker: Worker, now: Instant): CostInterval | null {
  const { since, cause } = worker.billing
  if (since === null || cause === null) return null
  const hours = Math.max(0, toMs(now) - toMs(since)) / HOUR_MS
  const usd = (worker.cost_per_hour_usd ?? 0) * hours
  const stopped = cause === 'stopped'
  return {
    status: worker.status,
    cause,
    from: since,
    to: now,
    usd: stopped ? 0 : usd,
    disk_usd: (worker.disk?.usd_per_hour ?? 0) * hours,
    is_price_known: worker.cost_per_hour_usd !== null,
    saved_usd: stopped && isStoppedByPolicy(worker) ? usd : 0,
  }
}

export const totalUsd = ({ usd, disk_usd = 0 }: Pick<CostInterval, 'usd' | 'disk_usd'>): number => usd + disk_usd

/** Whether it has a machine whose price is unknown, so that sums of costs are too low. */
export const isPriceUnknown = ({ cost_per_hour_usd, billing }: Worker): boolean =>
  cost_per_hour_usd === null && billing.cause !== null

/** The current hourly costs; null while a machine runs whose price is unknown. */
export function perHourOf(worker: Worker): number | null {
  const { cause } = worker.billing
  const machine = cause === null || cause === 'stopped' ? 0 : worker.cost_per_hour_usd
  return machine === null ? null : machine + diskPerHour(worker)
}

/** The costs of the worker until now, and per hour. */
export function costOf(
  worker: Worker,
  now: Instant,
): { spent_usd: number; per_hour_usd: number | null; cause: CostCause | null } {
  const open = intervalOf(worker, now)
  return {
    spent_usd: worker.billing.closed_usd + (open === null ? 0 : totalUsd(open)),
    per_hour_usd: perHourOf(worker),
    cause: worker.billing.cause,
  }
}

/** The hourly costs of the disk, which last as long as the machine. */
export const diskPerHour = ({ billing, disk }: Worker): number =>
  billing.cause === null ? 0 : (disk?.usd_per_hour ?? 0)
