import type { RegionConfig } from '@lcm/domain/template/worker-template'
import type { WorkerPolicy } from '@lcm/domain/worker/observation'

export interface WorkerControllerConfig {
  /** The value of `lcm:fleet`: machines of another fleet are never touched. */
  readonly fleet: string
  readonly regions: Readonly<Record<string, RegionConfig>>
  readonly policy: WorkerPolicy
  readonly reconcileIntervalMs: number
  readonly pollingEnabled: boolean
  readonly maxConcurrent: number
}

export const WORKER_CONTROLLER_DEFAULTS = {
  reconcileIntervalMs: 30_000,
  pollingEnabled: true,
  maxConcurrent: 5,
} as const
