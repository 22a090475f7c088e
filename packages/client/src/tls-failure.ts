interface TlsFailure {
  readonly message: (url: string) => string
  readonly advice: string
}

const UNTRUSTED: TlsFailure = {
  message: url => `the certificate of ${url} is signed by an authority that is not trusted here`,
  advice: 'set LCM_CA_FILE to the certificate of that authority',
}
const NO_TLS: TlsFailure = { message: url => `the server at ${url} does not use TLS`, advice: 'use an http address' }
const RENEW = 'renew it; LCM loads the new files within seconds'

/** By the error code of Node.js. The connection ended before a request was sent. */
const TLS_FAILURES: Readonly<Record<string, TlsFailure>> = {
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_HAS_EXPIRED: { message: url => `the certificate of ${url} has expired`, advice: RENEW },
  CERT_NOT_YET_VALID: {
    message: url => `the certificate of ${url} is not valid yet`,
    advice: 'check the clocks of both computers',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    message: url => `the certificate of ${url} is for other host names`,
    advice: 'use a host name that the certificate has, or create one that has this name',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
}

/** The reason why no TLS connection was made, and what to do; null for other errors. */
export function tlsFailureIn(error: unknown): TlsFailure | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const found = 'code' in cause && typeof cause.code === 'string' ? TLS_FAILURES[cause.code] : undefined
    if (found !== undefined) return found
  }
  return null
}
