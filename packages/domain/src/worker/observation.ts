import type { RegionConfig, WorkerTemplate } from '../template/worker-template.ts'
import type { CmlStage } from './boot.ts'
import type { Instance } from './instance.ts'

/** What the cloud showed of a worker's machine. */
export type Ec2Sight =
  | { readonly kind: 'instance'; readonly instance: Instance }
  /**
   * Not visible in a complete answer. `confirmed` only after it was looked for twice, far enough apart, and past the grace
   * after its launch: until then it may just not be visible yet.
   */
  | { readonly kind: 'absent'; readonly confirmed: boolean; readonly because: string }
  /** The cloud did not answer, or not completely. Unknown never destroys, stops or marks anything. */
  | { readonly kind: 'unknown'; readonly because: string }

export interface CmlSight {
  readonly stage: CmlStage
  /** How many times in a row the server has said that it is ready. It may say so once and then reboot. */
  readonly ready_streak: number
  readonly version: string | null
  readonly certificate_sha256: string | null
  readonly detail: string
}

/** What a launch is rendered from; null where it could not be found. */
export interface LaunchInputs {
  readonly template: WorkerTemplate | null
  readonly region: RegionConfig | null
  readonly image: { readonly image_id: string; readonly root_device: string } | null
  readonly fleet: string
  /** Why the cloud could not be asked for the image; null when it answered. */
  readonly problem: string | null
}

export interface Observation {
  readonly ec2: Ec2Sight
  /** Null when there was no address to look at. */
  readonly cml: CmlSight | null
  /** Null unless the worker still has to be launched. */
  readonly launch: LaunchInputs | null
}

/** The numbers that decisions depend on. */
export interface WorkerPolicy {
  /** How soon a change in progress is looked at again: from the first, growing with its age, to the second. */
  readonly lookAgainMs: number
  readonly lookAgainMsMax: number
  readonly probeIntervalMs: number
  readonly readyAnswers: number
  /** How long an offering without capacity is left alone once all have been tried. */
  readonly capacityPauseMs: number
  /** How long a launch waits for its template, region or image before the worker fails. */
  readonly inputsWaitMs: number
  readonly provisioningMsMax: number
  readonly startingMsMax: number
  readonly stoppingMsMax: number
}

const MINUTE_MS = 60_000

export const WORKER_POLICY: WorkerPolicy = {
  lookAgainMs: 5_000,
  lookAgainMsMax: 30_000,
  probeIntervalMs: 10_000,
  readyAnswers: 3,
  capacityPauseMs: 3 * MINUTE_MS,
  inputsWaitMs: 10 * MINUTE_MS,
  provisioningMsMax: 15 * MINUTE_MS,
  startingMsMax: 30 * MINUTE_MS,
  stoppingMsMax: 20 * MINUTE_MS,
}
