/** Address and identity of a CML server. */
export interface CmlEndpoint {
  /** Scheme, host and port, such as `https://127.64.0.1:8443`. */
  readonly url: string
  /**
   * SHA-256 of the certificate seen at first contact (lower-case hex, no colons); null accepts and reports any
   * certificate.
   */
  readonly certificate_sha256: string | null
}

/** Credentials for a server. Adapters keep the session, and log in again once when the server has forgotten it. */
export interface CmlLogin extends CmlEndpoint {
  readonly username: string
  readonly password: string
}

/** Login calls, as errors name them. An error of one of them concerns the login, whatever call needed it. */
export const LOGIN_ACTIONS: readonly string[] = ['POST /auth_extended', 'POST /authenticate']
/** Action of errors before any request to CML: finding the credentials. */
export const FIND_CREDENTIALS = 'authenticate'
