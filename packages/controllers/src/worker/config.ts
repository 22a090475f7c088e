import type { CmlCredentials } from '@lcm/cloud/cml-login-resolver'
import type { RegionConfig } from '@lcm/domain/template/worker-template'
import type { WorkerPolicy } from '@lcm/domain/worker/observation'

export interface WorkerControllerConfig {
  /** The value of `lcm:fleet`: machines of another fleet are never touched. */
  readonly fleet: string
  /** Makes launch tokens unpredictable. Each token is stored before it is used, so the secret may change at any time. */
  readonly launchSecret: string
  readonly regions: Readonly<Record<string, RegionConfig>>
  readonly policy: WorkerPolicy
  readonly reconcileIntervalMs: number
  readonly pollingEnabled: boolean
  readonly maxConcurrent: number
  /** By how much the delay of a retry grows, from 1 s up to 60 s. */
  readonly backoffMultiplier: number
  readonly metricsIntervalMs: number
  /** Interval of the checks that a serving CML still answers. */
  readonly cmlCheckIntervalMs: number
  readonly idleCheckIntervalMs: number
  readonly discoveryIntervalMs: number
  /** Imports unknown machines with the discovery tag as workers. */
  readonly autoImportEnabled: boolean
  /** Image names of machines to manage, with `*` and `?`; empty: any. */
  readonly discoveryAmiFilter: string
  /** Above this many workers, metrics have no series per worker. */
  readonly workerSeriesMax: number
  /** Credentials for workers that have none of their own; null: LCM does not log in there. */
  readonly cmlDefaults: CmlCredentials | null
}

export const WORKER_CONTROLLER_DEFAULTS = {
  launchSecret: '',
  reconcileIntervalMs: 30_000,
  pollingEnabled: true,
  maxConcurrent: 5,
  backoffMultiplier: 2,
  metricsIntervalMs: 60_000,
  cmlCheckIntervalMs: 15_000,
  idleCheckIntervalMs: 300_000,
  discoveryIntervalMs: 300_000,
  autoImportEnabled: true,
  discoveryAmiFilter: '',
  workerSeriesMax: 500,
  cmlDefaults: null,
} as const
