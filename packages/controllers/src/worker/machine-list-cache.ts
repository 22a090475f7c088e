import type { BatchedCompute } from '@lcm/cloud/compute-wrappers/batched-compute'
import { type Instance, TAG } from '@lcm/domain/worker/ec2-instance'
import type { Clock } from '@lcm/runtime/clock'
import type { WorkerControllerConfig } from './config.ts'

/** Shorter than a poll interval, so each poll lists again; longer than a sweep of thousands of workers takes. */
const FRESH_MS = 20_000

export type Snapshot = ReadonlyMap<string, Instance>

/** Cached listings of the machines of a region. */
export interface RegionSnapshots {
  /**
   * Every machine of a region with our tag or the discovery tag, by id, from a recent listing. Rejects rather than return a
   * part.
   */
  latest(region: string, signal: AbortSignal): Promise<Snapshot>
  /** Drops the cache, so the next read lists again. */
  forget(): void
}

export function regionSnapshots(parts: {
  machines: BatchedCompute
  clock: Clock
  config: WorkerControllerConfig
}): RegionSnapshots {
  const { machines, clock, config } = parts
  const { discoveryTag } = config.policy
  const tag_keys = [TAG.fleet, ...(discoveryTag === null ? [] : [discoveryTag.key])]
  const freshMs = Math.min(FRESH_MS, (config.reconcileIntervalMs * 2) / 3)
  const cached = new Map<string, { readonly atMs: number; readonly snapshot: Promise<Snapshot> }>()
  return {
    latest(region, signal) {
      const known = cached.get(region)
      if (known && clock.monotonic() - known.atMs < freshMs) return known.snapshot
      const snapshot = machines
        .list(region, { tag_keys }, signal)
        .then(instances => new Map(instances.map(instance => [instance.instance_id, instance])))
      cached.set(region, { atMs: clock.monotonic(), snapshot })
      snapshot.catch(() => cached.delete(region))
      return snapshot
    },
    forget: () => cached.clear(),
  }
}
