import type { CmlCredentials } from '@lcm/cloud/cml-login-resolver'

export interface LabletControllerConfig {
  readonly reconcileIntervalMs: number
  readonly pollingEnabled: boolean
  readonly maxConcurrent: number
  /** Concurrent reconciles per CML, so that a slow one does not take all slots. */
  readonly perWorkerMax: number
  /** Interval of lab scans of a worker. */
  readonly labScanIntervalMs: number
  /** Poll interval for requested content, in case a change key was missed. */
  readonly contentSyncIntervalMs: number
  /** Credentials for workers that have none of their own; null: LCM does not log in there. */
  readonly cmlDefaults: CmlCredentials | null
}

export const LABLET_CONTROLLER_DEFAULTS = {
  reconcileIntervalMs: 30_000,
  pollingEnabled: true,
  maxConcurrent: 20,
  perWorkerMax: 4,
  labScanIntervalMs: 30 * 60_000,
  contentSyncIntervalMs: 300_000,
  cmlDefaults: null,
} as const
