import type { HealthStatus } from '@lcm/domain/health'
import { toInstant } from '@lcm/domain/instant'
import { costOf, isPriceUnknown, perHourOf } from '@lcm/domain/worker/cost'
import type { Worker, WorkerStatus } from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'

/** Based on billing instead of status: the machine of a failed worker may be stopped or still running. */
export const isSpending = ({ billing: { cause } }: Worker): boolean => cause !== null && cause !== 'stopped'

/** Includes the time since the last update of the worker. */
export const spentUsd = (worker: Worker, nowMs: number): number => costOf(worker, toInstant(nowMs)).spent_usd

export interface FleetSummary {
  readonly byStatus: ReadonlyMap<WorkerStatus, number>
  readonly byHealth: ReadonlyMap<HealthStatus, number>
  /** Workers that are not terminated. */
  readonly present: number
  readonly running: number
  readonly usdPerHour: number
  /** Workers whose machine has no known price. */
  readonly unknownPrices: number
}

export function summaryOf(workers: readonly Worker[]): FleetSummary {
  const byStatus = new Map<WorkerStatus, number>()
  const byHealth = new Map<HealthStatus, number>()
  let [present, usdPerHour, unknownPrices] = [0, 0, 0]
  workers.forEach(worker => {
    byStatus.set(worker.status, (byStatus.get(worker.status) ?? 0) + 1)
    const health = workerHealth(worker).status
    byHealth.set(health, (byHealth.get(health) ?? 0) + 1)
    if (worker.status !== 'TERMINATED') present++
    usdPerHour += perHourOf(worker) ?? 0
    if (isPriceUnknown(worker)) unknownPrices++
  })
  return { byStatus, byHealth, present, running: byStatus.get('RUNNING') ?? 0, usdPerHour, unknownPrices }
}
