import type { Instant } from '../instant.ts'
import type { Reason } from '../reason.ts'
import type { RegionConfig, WorkerTemplate } from '../template/worker-template.ts'
import type { CmlStage } from './boot-stages.ts'
import type { CmlAddress } from './cml-endpoint.ts'
import { type Instance, TAG } from './ec2-instance.ts'
import type { Worker } from './worker.ts'

/** What EC2 reported about a worker's instance. */
export type Ec2Observation =
  | { readonly kind: 'instance'; readonly instance: Instance }
  /**
   * Not in a complete answer. `confirmed` only after two reads, far enough apart, and past the grace period after its launch:
   * until then it may just not be visible yet.
   */
  | { readonly kind: 'absent'; readonly confirmed: boolean; readonly because: Reason }
  /** EC2 did not answer, or not completely. An unknown state never terminates, stops or marks anything. */
  | ({ readonly kind: 'unknown' } & Unreadable)

/** Why EC2 could not be read. */
export interface Unreadable {
  /** The same reason for the whole outage: the errors of EC2 differ from call to call, and belong in the log. */
  readonly because: Reason
  /** When the region stopped answering; null when it answers others. */
  readonly sinceMs: number | null
}

export interface CmlObservation {
  readonly stage: CmlStage
  /** How many times in a row the server was ready. It may be ready once and then reboot. */
  readonly ready_streak: number
  readonly version: string | null
  readonly certificate_sha256: string | null
  readonly detail: string
}

/**
 * The parts of a worker's CML that LCM needs; the part whose refusal hurts most comes first. `credentials`: LCM has none that it may send,
 * so CML is not asked at all. `telemetry_off`: CML answers, but collects nothing.
 */
export const CML_PARTS = [
  'credentials',
  'login',
  'telemetry',
  'telemetry_off',
  'system_stats',
  'system_health',
  'node_definitions',
  'licensing',
] as const
export type CmlPart = (typeof CML_PARTS)[number]

/** CML answered with a refusal. A retry does not help until an operator changes something. */
export interface CmlRefusal {
  /** The error message of CML. */
  readonly message: string
  readonly sinceMs: number
}

/** What CML last answered, by part. A part that is missing was not asked, or did not answer: nothing is known of it. */
export type CmlAccess = Readonly<Partial<Record<CmlPart, 'accepted' | CmlRefusal>>>

/** What a launch is rendered from; null where it could not be found. */
export interface LaunchInputs {
  readonly template: WorkerTemplate | null
  readonly region: RegionConfig | null
  readonly image: { readonly image_id: string; readonly root_device: string } | null
  /** Offers for which EC2 had no capacity recently, as `<type>/<subnet>`, and until when they are skipped. */
  readonly scarce: ReadonlyMap<string, number>
  /** Why EC2 could not be asked for the image; null when it answered. */
  readonly problem: Unreadable | null
}

/** What CML reports about its license. `unknown`: it could not be read, which proves nothing. */
export type LicenseObservation =
  | {
      readonly kind: 'seen'
      /** As CML reports them, such as COMPLETED and IN_COMPLIANCE. */
      readonly registration: string
      readonly authorization: string
      readonly failure: string | null
      readonly udi: string | null
      readonly hostname: string | null
      readonly product: string | null
    }
  | { readonly kind: 'unknown'; readonly because: Reason }

/** Labs that stopped without a request, as they do when their machine restarts. */
export interface LostLabs {
  /** When their nodes were last seen running. */
  readonly upUntil: Instant
  readonly because: Reason
}

export interface Observation {
  readonly ec2: Ec2Observation
  /** Null when there was no address, or no need to probe it. */
  readonly cml: CmlObservation | null
  /** Null when nothing depended on it. */
  readonly license: LicenseObservation | null
  /** Whether CML confirmed in this term that it returned its license; the record may not show it yet. */
  readonly isReturnHeard: boolean
  /** Null unless the worker still has to be launched. */
  readonly launch: LaunchInputs | null
  /** Whether a probe of its CML is due: license, node definitions and the activity of users. */
  readonly isSurveyDue: boolean
  /** The node definitions of its CML, sorted; null when they were not read. */
  readonly nodeDefinitions: readonly string[] | null
  /** Since when it was not measured, if that is too long; null while it is measured. */
  readonly metricsSilentSince: number | null
  /** Pause before the tags of its machine may be set again; 0 when they may be set now. */
  readonly tagPauseMs: number
  /** What its CML last accepted or refused. */
  readonly access: CmlAccess
  /** Labs that stopped without a request; null when none were found. */
  readonly lostLabs: LostLabs | null
}

/** A machine that was found, with everything that a decision about it needs. */
export interface Seen extends Omit<Observation, 'ec2'> {
  readonly worker: Worker
  readonly instance: Instance
  readonly policy: WorkerPolicy
  readonly nowMs: number
}

/** The numbers and rules that decisions depend on. */
export interface WorkerPolicy {
  /** The value of `lcm:fleet` on our machines. */
  readonly fleet: string
  /** The discovery tag of machines that LCM did not launch; null when none are imported. */
  readonly discoveryTag: { readonly key: string; readonly value: string } | null
  readonly cmlAddress: CmlAddress
  readonly licenseOnTerminate: 'boot' | 'record'
  readonly licenseOnStop: 'keep' | 'release'
  /** Requeue delay of a change in progress: from the first, growing with its age, to the second. */
  readonly requeueMs: number
  readonly requeueMsMax: number
  readonly probeIntervalMs: number
  readonly readyAnswers: number
  /** How far apart two misses of a machine must be, so that they are not one hiccup. */
  readonly missesApartMs: number
  /** How long an offer without capacity is skipped once all have been tried. */
  readonly capacityPauseMs: number
  /** How long a launch waits that AWS refuses to this account: for a quota, or for a permission. */
  readonly quotaPauseMs: number
  readonly authPauseMs: number
  /** How long a launch waits for its template, region or image before the worker fails. */
  readonly inputsWaitMs: number
  readonly provisioningMsMax: number
  readonly startingMsMax: number
  readonly stoppingMsMax: number
  /** How long a license operation may take once CML has accepted it. */
  readonly licenseMsMax: number
  /** How long a machine is kept to return its license before it is terminated without. */
  readonly returnLicenseMsMax: number
  /** How long EC2 may take to terminate before the worker is Overdue. */
  readonly terminatingMsMax: number
  /** After how long each automatic retry of a failed worker begins. */
  readonly retryAfterMs: readonly number[]
}

const MINUTE_MS = 60_000

export const WORKER_POLICY: WorkerPolicy = {
  fleet: 'lcm',
  discoveryTag: { key: TAG.discovery, value: 'true' },
  cmlAddress: 'public',
  licenseOnTerminate: 'boot',
  licenseOnStop: 'keep',
  requeueMs: 5_000,
  requeueMsMax: 30_000,
  probeIntervalMs: 10_000,
  readyAnswers: 3,
  missesApartMs: MINUTE_MS,
  capacityPauseMs: 3 * MINUTE_MS,
  quotaPauseMs: 5 * MINUTE_MS,
  authPauseMs: MINUTE_MS,
  inputsWaitMs: 10 * MINUTE_MS,
  provisioningMsMax: 15 * MINUTE_MS,
  startingMsMax: 30 * MINUTE_MS,
  stoppingMsMax: 20 * MINUTE_MS,
  licenseMsMax: 2 * MINUTE_MS,
  returnLicenseMsMax: 120 * MINUTE_MS,
  terminatingMsMax: 20 * MINUTE_MS,
  retryAfterMs: [5 * MINUTE_MS, 15 * MINUTE_MS, 45 * MINUTE_MS],
}
