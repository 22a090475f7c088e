import type { CmlStage } from '@lcm/domain/worker/boot'
import type { CmlEndpoint, CmlLogin } from './cml-access.ts'

export type { CmlStage }

export interface CmlProbe {
  readonly stage: CmlStage
  /** `version` of system_information, once the API answers. */
  readonly version: string | null
  readonly certificate_sha256: string | null
  /** What stood in the way of the next stage, for people; empty at READY. */
  readonly detail: string
}

/**
 * The CML System API. It never touches labs. Every call but `probe` logs in by itself, ends within its adapter's deadline or
 * when `signal` aborts, and every failure is a CloudError: `auth` for a wrong name or password, `state` for "not now" (409),
 * `invalid` for a refusal in CML's own words (400), `throttled` for too many logins, `transient` for everything else.
 */
export interface CmlSystem {
  /** Looks at `GET /api/v0/system_information` once, within 3 s. It never rejects: every outcome is a stage. */
  probe(endpoint: CmlEndpoint, signal: AbortSignal): Promise<CmlProbe>
  stats(login: CmlLogin, signal: AbortSignal): Promise<CmlStats>
  health(login: CmlLogin, signal: AbortSignal): Promise<CmlHealth>
  /** Ids of the node definitions that labs on this server may use, sorted. */
  nodeDefinitions(login: CmlLogin, signal: AbortSignal): Promise<readonly string[]>
  licensing(login: CmlLogin, signal: AbortSignal): Promise<CmlLicensing>
  /** Asks for a registration and returns once CML has taken the request; `licensing` tells how it goes on. */
  register(login: CmlLogin, request: LicenseRequest, signal: AbortSignal): Promise<void>
  /**
   * Gives the licence back. `left_behind`: this server has forgotten it, but the Smart Account was not reached and still
   * counts it. `not_registered`: there was none.
   */
  deregister(login: CmlLogin, signal: AbortSignal): Promise<'returned' | 'left_behind' | 'not_registered'>
  /** What people did on this server, as its telemetry tells. */
  activity(login: CmlLogin, signal: AbortSignal): Promise<CmlActivity>
}

/** Of all compute hosts together. Shares are between 0 and 1; what CML did not say is null. */
export interface CmlStats {
  readonly cpu_count: number | null
  readonly cpu_utilization: number | null
  readonly memory_utilization: number | null
  readonly disk_utilization: number | null
  readonly memory_total_bytes: number | null
  readonly disk_total_bytes: number | null
  readonly running_nodes: number | null
  /** Machines that run without belonging to a lab; they take room silently. */
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
  /** False: the wrong type of machine. */
  readonly kvm_vmx_enabled: boolean | null
  readonly enough_cpus: boolean | null
  readonly refplat_images_available: boolean | null
  readonly admission_state: string | null
}

export interface CmlLicensing {
  /** Such as NOT_REGISTERED, IN_PROGRESS, RETRY_IN_PROGRESS, COMPLETED, FAILED; CML's own word. */
  readonly registration: string
  /** Such as INIT, EVAL, IN_COMPLIANCE, OUT_OF_COMPLIANCE; CML's own word. */
  readonly authorization: string
  /** Why the last registration failed, in CML's words; null when it did not. It may quote the token, so it is not for logs. */
  readonly failure: string | null
  readonly udi: { readonly hostname: string; readonly product_uuid: string } | null
  readonly product: string | null
}

export interface LicenseRequest {
  /** Such as `CML_Enterprise`; null leaves the product as it is. */
  readonly product: string | null
  readonly token: string
  /** Nodes beyond those that the product includes; null leaves the count as it is. */
  readonly extra_nodes: number | null
}

export interface CmlActivity {
  /** Who we are on that server, so that our own doings can be told from people's. */
  readonly own_user_id: string | null
  /** False when the server collects none: nothing can be concluded then. */
  readonly is_collected: boolean
  readonly events: readonly CmlEvent[]
}

export interface CmlEvent {
  readonly category: string
  /** ISO 8601 with zone. */
  readonly at: string
  readonly user_id: string | null
  /** The lab that it is about; null for events that are about none, or do not name it. */
  readonly lab_id: string | null
}
