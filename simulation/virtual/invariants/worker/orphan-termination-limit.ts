import { allowedLosses } from '@lcm/domain/fleet/machine-loss-limit'
import type { Worker } from '@lcm/domain/worker/worker'
import { HOUR_MS } from '../../world/durations.ts'
import type { Mutation } from '../cloud-mutation.ts'

export interface TerminationLimitParts {
  readonly latest: ReadonlyMap<string, Worker>
  now(): number
}

/** Limits how many machines without a record are terminated within an hour. */
export function orphanTerminationLimit({
  latest,
  now,
}: TerminationLimitParts): (mutation: Mutation) => readonly string[] {
  const terminatedAt = new Map<string, number>()
  let largest = 0
  return ({ act, machine, worker }) => {
    if (act !== 'terminate' || worker !== null) return []
    const size = [...latest.values()].filter(each => each.status !== 'TERMINATED').length
    largest = Math.max(largest, size)
    if (!terminatedAt.has(machine)) terminatedAt.set(machine, now())
    const recent = [...terminatedAt.values()].filter(at => now() - at < HOUR_MS).length
    const most = allowedLosses(largest)
    return recent > most
      ? [`${recent} machines without a record were terminated within an hour; the limit is ${most}`]
      : []
  }
}
