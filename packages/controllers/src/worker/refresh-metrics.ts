import type { Worker } from '@lcm/domain/worker/worker'
import type { Observer } from './observe.ts'

/** Somebody who wants a fresh look at a worker wants fresh numbers too; once for each time that they ask. */
export function withFreshMetrics(
  observing: Observer,
  measureNow: (worker: Worker, signal: AbortSignal) => Promise<void>,
): Observer {
  const measuredFor = new Map<string, string>()
  const isDue = ({ id, status, refresh_requested_at: asked }: Worker): boolean =>
    status === 'RUNNING' && asked !== null && measuredFor.get(id) !== asked
  return {
    ...observing,
    async observe(worker, policy, signal) {
      const { id, refresh_requested_at: asked } = worker
      if (!isDue(worker)) return observing.observe(worker, policy, signal)
      if (asked !== null) measuredFor.set(id, asked)
      const [seen] = await Promise.all([observing.observe(worker, policy, signal), measureNow(worker, signal)])
      return seen
    },
    forget(workerId) {
      measuredFor.delete(workerId)
      observing.forget(workerId)
    },
  }
}
