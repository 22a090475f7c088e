export interface ResourceSchedulerConfig {
  /** The region of purchased workers. */
  readonly region: string
  readonly reconcileIntervalMs: number
  readonly pollingEnabled: boolean
  readonly cleanupIntervalMs: number
  /** Logs what a cleanup would remove, and removes nothing. */
  readonly cleanupDryRun: boolean
}

export const RESOURCE_SCHEDULER_DEFAULTS = {
  reconcileIntervalMs: 30_000,
  pollingEnabled: true,
  cleanupIntervalMs: 3_600_000,
  cleanupDryRun: false,
} as const
