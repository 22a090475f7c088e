/** License state of a CML server, as timestamps. */
export interface LicensingRecord {
  readonly product: string
  /** Nodes in addition to those of the product. */
  readonly extra_nodes: number
  readonly transport: Transport
  readonly registration: Registration | null
  readonly registration_renewed_ms: number | null
  readonly authorization_renewed_ms: number | null
}

export interface Transport {
  readonly ssms: string | null
  readonly proxy: { readonly server: string | null; readonly port: number | null }
}

export interface Registration {
  readonly token: string
  readonly asked_ms: number
  /** IN_PROGRESS until then. */
  readonly ends_ms: number
  /** No license left: the account lists the server without a license. */
  readonly outcome: 'granted' | 'none_left' | 'bad_token' | 'not_reached'
  /** When a granted registration is authorized. */
  readonly authorized_ms: number
}

export type RegistrationStatus = 'NOT_REGISTERED' | 'IN_PROGRESS' | 'RETRY_IN_PROGRESS' | 'COMPLETED' | 'FAILED'
export type AuthorizationStatus = 'INIT' | 'EVAL' | 'IN_COMPLIANCE' | 'OUT_OF_COMPLIANCE'

export const PRODUCTS = {
  CML_Enterprise: { nodes: 20, is_enterprise: true },
  CML_Education: { nodes: 20, is_enterprise: true },
  CML_Internal: { nodes: 20, is_enterprise: true },
  CML_NotForResale: { nodes: 20, is_enterprise: true },
  CML_Personal: { nodes: 20, is_enterprise: false },
  CML_Personal40: { nodes: 40, is_enterprise: false },
  /** The product of the pool that a first start on the simulated cloud has; no CML sells it. */
  CML_Simulated: { nodes: 200, is_enterprise: false },
} as const
export type Product = keyof typeof PRODUCTS
export const isProduct = (text: string): text is Product => Object.hasOwn(PRODUCTS, text)

/** Node quota of CML without a license. */
const FREE_NODES = 5

export const DEFAULT_SSMS = 'https://smartreceiver.cisco.com/licservice/license'

export const UNLICENSED: LicensingRecord = {
  product: 'CML_Enterprise',
  extra_nodes: 0,
  transport: { ssms: DEFAULT_SSMS, proxy: { server: null, port: null } },
  registration: null,
  registration_renewed_ms: null,
  authorization_renewed_ms: null,
}

export function registrationAt({ registration }: LicensingRecord, atMs: number): RegistrationStatus {
  if (registration === null) return 'NOT_REGISTERED'
  if (atMs < registration.ends_ms) return 'IN_PROGRESS'
  if (registration.outcome === 'granted' || registration.outcome === 'none_left') return 'COMPLETED'
  return registration.outcome === 'bad_token' ? 'FAILED' : 'RETRY_IN_PROGRESS'
}

export function authorizationAt(
  record: LicensingRecord,
  atMs: number,
  compliance: 'IN_COMPLIANCE' | 'OUT_OF_COMPLIANCE',
): AuthorizationStatus {
  const { registration } = record
  const status = registrationAt(record, atMs)
  if (status === 'FAILED' || status === 'RETRY_IN_PROGRESS') return 'EVAL'
  if (status !== 'COMPLETED' || registration === null || atMs < registration.authorized_ms) return 'INIT'
  return registration.outcome === 'none_left' ? 'OUT_OF_COMPLIANCE' : compliance
}

/** Why the last registration failed, or `OK`. Smart Licensing quotes the rejected token. */
export function failureAt(record: LicensingRecord, atMs: number): string | null {
  const { registration } = record
  switch (registrationAt(record, atMs)) {
    case 'FAILED':
      return `{"token":["The token '${registration?.token}' is not valid."]}`
    case 'RETRY_IN_PROGRESS':
      return 'Communication send error.'
    case 'COMPLETED':
      return 'OK'
    default:
      return null
  }
}

/** A granted license counts even if the account is out of compliance. */
export function quotaAt(record: LicensingRecord, atMs: number): number {
  const { registration, product, extra_nodes } = record
  const isGranted = registration?.outcome === 'granted' && atMs >= registration.authorized_ms
  if (!isGranted || !isProduct(product)) return FREE_NODES
  const { nodes, is_enterprise } = PRODUCTS[product]
  return nodes + (is_enterprise ? extra_nodes : 0)
}
