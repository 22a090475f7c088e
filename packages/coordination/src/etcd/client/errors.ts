export type EtcdErrorCode =
  | 'etcd_unreachable'
  | 'etcd_untrusted'
  | 'etcd_slow'
  | 'etcd_no_leader'
  | 'etcd_no_space'
  | 'etcd_bad_credentials'
  | 'etcd_permission_denied'
  | 'etcd_compacted'
  | 'etcd_lease_not_found'
  | 'etcd_closed'
  | 'etcd_failed'

/** Problem and advice for each code. */
const SENTENCES: Readonly<Record<EtcdErrorCode, readonly [what: string, advice: string]>> = {
  etcd_unreachable: ['cannot be reached', 'check that it runs and that the endpoint is right'],
  etcd_untrusted: ['could not be trusted', 'check the certificates on both sides'],
  etcd_slow: ['did not respond in time', 'check its load, its disk and the network'],
  etcd_no_leader: ['has no leader', 'check that a majority of its members run and see each other'],
  etcd_no_space: ['is full and refuses writes', 'compact and defragment it, then run etcdctl alarm disarm'],
  etcd_bad_credentials: ['rejected the credentials', 'check user and password'],
  etcd_permission_denied: ['denied permission', 'grant the user read and write under the key prefix'],
  etcd_compacted: ['no longer has that revision', 'list again'],
  etcd_lease_not_found: ['does not know that lease', 'campaign again'],
  etcd_closed: ['was closed', 'open it again'],
  etcd_failed: ['failed', 'see its log'],
}

export class EtcdError extends Error {
  readonly code: EtcdErrorCode
  readonly endpoint: string
  readonly advice: string
  constructor(code: EtcdErrorCode, endpoint: string, details: string) {
    const [what, advice] = SENTENCES[code]
    super(`etcd at ${endpoint} ${what} (${details})`)
    this.name = 'EtcdError'
    this.code = code
    this.endpoint = endpoint
    this.advice = advice
  }
}

/** Status that ends a gRPC call. */
export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/**
 * etcd's messages, first match first; etcd reuses gRPC codes for different problems, so the message comes before the
 * code.
 */
const BY_WORDS: readonly (readonly [RegExp, EtcdErrorCode])[] = [
  [/required revision has been compacted/, 'etcd_compacted'],
  [/requested lease not found/, 'etcd_lease_not_found'],
  [/database space exceeded|alarm:NOSPACE/, 'etcd_no_space'],
  [/invalid user ID or password|invalid auth token|user name is empty|auth store is old/, 'etcd_bad_credentials'],
  [/permission denied|permission is not granted/, 'etcd_permission_denied'],
  [/no leader|leader changed|leader failure|due to connection lost|leadership/, 'etcd_no_leader'],
  // The last one is ours: the connection was closed because another call got no response.
  [/request timed out|too many requests|Channel closed before call started/, 'etcd_slow'],
  [/certificate|self.signed|wrong version number|EPROTO|alert|ERR_TLS/i, 'etcd_untrusted'],
]

const BY_CODE: Readonly<Record<number, EtcdErrorCode>> = {
  4: 'etcd_slow',
  7: 'etcd_permission_denied',
  14: 'etcd_unreachable',
  16: 'etcd_bad_credentials',
}

export function etcdErrorFrom(endpoint: string, { code, details }: GrpcStatus): EtcdError {
  const [, byWords] = BY_WORDS.find(([words]) => words.test(details)) ?? []
  return new EtcdError(byWords ?? BY_CODE[code] ?? 'etcd_failed', endpoint, shortened(details))
}

/** Removes gRPC's timestamps and prefixes. */
const shortened = (details: string): string =>
  details
    .replace(/^No connection established\. Last error: /, '')
    .replace(/^Error: /, '')
    .replace(/\. Resolution note: $/, '')
    .replace(/ \(\d{4}-\d\d-\d\dT[^)]*\)/g, '')

export const isEtcdError = (error: unknown, ...codes: readonly EtcdErrorCode[]): boolean =>
  error instanceof EtcdError && codes.includes(error.code)
