import type { CmlStage } from '@lcm/domain/worker/boot'

export type { CmlStage }

export interface CmlEndpoint {
  /** Scheme, host and port, such as `https://127.64.0.1:8443`. */
  readonly url: string
  /** SHA-256 of the certificate seen at first contact (lower-case hex, no colons); null accepts and reports whatever is there. */
  readonly certificate_sha256: string | null
}

export interface CmlProbe {
  readonly stage: CmlStage
  /** `version` of system_information, once the API answers. */
  readonly version: string | null
  readonly certificate_sha256: string | null
  /** What stood in the way of the next stage, for people; empty at READY. */
  readonly detail: string
}

/** The CML System API. It never touches labs. */
export interface CmlSystem {
  /** Looks at `GET /api/v0/system_information` once, within 3 s. It never rejects: every outcome is a stage. */
  probe(endpoint: CmlEndpoint, signal: AbortSignal): Promise<CmlProbe>
}
