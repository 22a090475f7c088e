import type { CmlCredentials } from '@lcm/cloud/cml-credentials'

export interface LabletControllerConfig {
  readonly reconcileIntervalMs: number
  readonly pollingEnabled: boolean
  readonly maxConcurrent: number
  /** How many looks may talk to one CML at a time, so that a slow one does not take all hands. */
  readonly perWorkerMax: number
  /** How often all labs of a worker are listed. */
  readonly labScanIntervalMs: number
  /** How often somebody who did not hear of it looks for content to fetch. */
  readonly contentSyncIntervalMs: number
  /** How to log in where a worker has no credentials of its own; null: not at all. */
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
