import type { Machines } from '@lcm/cloud/gathered'
import { type Instance, TAG } from '@lcm/domain/worker/instance'
import type { Clock } from '@lcm/runtime/clock'
import type { WorkerControllerConfig } from './config.ts'

/** Younger than a poll cycle, so each cycle looks anew, and all workers of one cycle share one listing. */
const FRESH_MS = 10_000

export type Snapshot = ReadonlyMap<string, Instance>

export interface RegionSnapshots {
  /** A complete listing of the fleet in a region, at most FRESH_MS old. Rejects rather than answer a part. */
  latest(region: string, signal: AbortSignal): Promise<Snapshot>
}

export function regionSnapshots(parts: {
  machines: Machines
  clock: Clock
  config: WorkerControllerConfig
}): RegionSnapshots {
  const { machines, clock, config } = parts
  const cached = new Map<string, { readonly atMs: number; readonly snapshot: Promise<Snapshot> }>()
  return {
    latest(region, signal) {
      const known = cached.get(region)
      if (known && clock.monotonic() - known.atMs < FRESH_MS) return known.snapshot
      const snapshot = machines
        .list(region, { tags: { [TAG.fleet]: config.fleet } }, signal)
        .then(instances => new Map(instances.map(instance => [instance.instance_id, instance])))
      cached.set(region, { atMs: clock.monotonic(), snapshot })
      snapshot.catch(() => cached.delete(region))
      return snapshot
    },
  }
}
