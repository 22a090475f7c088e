import { toMs } from '@lcm/domain/instant'
import { CONDITION, type Worker } from '@lcm/domain/worker/worker'

/** So many samples may be missed before somebody is told. */
const INTERVALS = 3

/** When running workers were last measured. Memory only: a new leader may be slower to say something, never quicker. */
export interface MetricsAge {
  measured(workerId: string, nowMs: number): void
  /** Since when nothing was measured of it, if that is too long; else null. */
  staleSince(worker: Worker, nowMs: number): number | null
  forget(workerId: string): void
  /** A new term starts over. */
  clear(): void
}

export function metricsAge(intervalMs: number): MetricsAge {
  const times = new Map<string, number>()
  return {
    measured: (workerId, nowMs) => void times.set(workerId, nowMs),
    staleSince(worker, nowMs) {
      if (worker.status !== 'RUNNING') {
        times.delete(worker.id)
        return null
      }
      const last = times.get(worker.id) ?? toldSince(worker) ?? nowMs
      times.set(worker.id, last)
      return nowMs - last > INTERVALS * intervalMs ? last : null
    },
    forget: workerId => void times.delete(workerId),
    clear: () => times.clear(),
  }
}

/** What an earlier term has said holds until there is a sample. */
function toldSince({ conditions }: Worker): number | null {
  const told = conditions.find(({ type, status }) => type === CONDITION.metricsStale && status)
  return told === undefined ? null : toMs(told.since)
}
