import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import type { CmlEndpoint, CmlLogin } from './cml-login.ts'

export type { CmlStage }

export interface CmlProbe {
  readonly stage: CmlStage
  /** `version` of system_information, once the API responds. */
  readonly version: string | null
  readonly certificate_sha256: string | null
  /** Obstacle to the next stage, for people; empty at READY. */
  readonly detail: string
}

/**
 * The CML System API. It never touches labs. Every call but `probe` logs in by itself, ends within its adapter's
 * deadline or when `signal` aborts, and every failure is a CloudError: `auth` for wrong credentials, `state` for "not
 * now" (409), `invalid` for a rejection with CML's message (400), `throttled` for too many logins, `transient` for
 * everything else.
 */
export interface CmlSystem {
  /** Calls `GET /api/v0/system_information` once, within 3 s. Never rejects: every outcome is a stage. */
  probe(endpoint: CmlEndpoint, signal: AbortSignal): Promise<CmlProbe>
  stats(login: CmlLogin, signal: AbortSignal): Promise<CmlStats>
  health(login: CmlLogin, signal: AbortSignal): Promise<CmlHealth>
  /** Ids of the node definitions that labs on this server may use, sorted. */
  nodeDefinitions(login: CmlLogin, signal: AbortSignal): Promise<readonly string[]>
  licensing(login: CmlLogin, signal: AbortSignal): Promise<CmlLicensing>
  /** Starts a registration and returns once CML has accepted the request; `licensing` shows its progress. */
  register(login: CmlLogin, request: LicenseRequest, signal: AbortSignal): Promise<void>
  /**
   * Returns the license. `left_behind`: this server has forgotten it, but the Smart Account was not reached and still
   * counts it. `not_registered`: there was none.
   */
  deregister(login: CmlLogin, signal: AbortSignal): Promise<'returned' | 'left_behind' | 'not_registered'>
  /** User activity on this server, from its telemetry. */
  activity(login: CmlLogin, signal: AbortSignal): Promise<CmlActivity>
}

/** Totals of all compute hosts. Utilizations are between 0 and 1; values that CML did not report are null. */
export interface CmlStats {
  readonly cpu_count: number | null
  readonly cpu_utilization: number | null
  readonly memory_utilization: number | null
  readonly disk_utilization: number | null
  readonly memory_total_bytes: number | null
  readonly disk_total_bytes: number | null
  readonly running_nodes: number | null
  /** Virtual machines that run without belonging to a lab; they use capacity silently. */
  readonly running_orphans: number | null
}

export interface CmlHealth {
  readonly valid: boolean | null
  readonly is_licensed: boolean | null
  readonly is_enterprise: boolean | null
  readonly computes: readonly CmlComputeHealth[]
}

export interface CmlComputeHealth {
  readonly hostname: string
  readonly valid: boolean | null
  readonly is_controller: boolean | null
  /** False: the instance type is wrong. */
  readonly kvm_vmx_enabled: boolean | null
  readonly enough_cpus: boolean | null
  readonly refplat_images_available: boolean | null
  readonly admission_state: string | null
}

export interface CmlLicensing {
  /** CML's own term, such as NOT_REGISTERED, IN_PROGRESS, RETRY_IN_PROGRESS, COMPLETED, FAILED. */
  readonly registration: string
  /** CML's own term, such as INIT, EVAL, IN_COMPLIANCE, OUT_OF_COMPLIANCE. */
  readonly authorization: string
  /** CML's message about a failed registration; null when it did not fail. It may quote the token, so never log it. */
  readonly failure: string | null
  readonly udi: { readonly hostname: string; readonly product_uuid: string } | null
  readonly product: string | null
}

export interface LicenseRequest {
  /** Such as `CML_Enterprise`; null keeps the current product. */
  readonly product: string | null
  readonly token: string
  /** Nodes beyond those that the product includes; null keeps the current count. */
  readonly extra_nodes: number | null
}

export interface CmlActivity {
  /** Our own user on that server, to tell our actions from people's. */
  readonly own_user_id: string | null
  /** False when the server collects no telemetry: its absence proves nothing. */
  readonly is_collected: boolean
  readonly events: readonly CmlEvent[]
}

export interface CmlEvent {
  readonly category: string
  /** ISO 8601 with zone. */
  readonly at: string
  readonly user_id: string | null
  /** Lab of the event; null when there is none or it is not named. */
  readonly lab_id: string | null
  /** Node of the event; null when there is none. */
  readonly node_id: string | null
}
