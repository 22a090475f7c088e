import type { LabletControllerConfig } from '@lcm/controllers/lablet/config'
import type { ResourceSchedulerConfig } from '@lcm/controllers/scheduler/config'
import type { WorkerControllerConfig } from '@lcm/controllers/worker/config'

/** Settings that differ from the defaults. */
export interface Settings {
  readonly worker?: Partial<WorkerControllerConfig>
  readonly scheduler?: Partial<ResourceSchedulerConfig>
  readonly lablets?: Partial<LabletControllerConfig>
}

const MINUTE_MS = 60_000

/**
 * For whole days with many workers: controllers poll every ten minutes instead of twice a minute, and CML every hour. Work started
 * by requests, events and timers is as fast as with the defaults.
 */
export const RELAXED_SETTINGS: Settings = {
  worker: {
    reconcileIntervalMs: 10 * MINUTE_MS,
    metricsIntervalMs: 60 * MINUTE_MS,
    cmlCheckIntervalMs: 60 * MINUTE_MS,
    idleCheckIntervalMs: 60 * MINUTE_MS,
    discoveryIntervalMs: 10 * MINUTE_MS,
  },
  scheduler: { reconcileIntervalMs: 10 * MINUTE_MS },
  lablets: {
    reconcileIntervalMs: 10 * MINUTE_MS,
    labScanIntervalMs: 60 * MINUTE_MS,
    contentSyncIntervalMs: 60 * MINUTE_MS,
  },
}
