/** Where a CML server is and how we know that it is the one. */
export interface CmlEndpoint {
  /** Scheme, host and port, such as `https://127.64.0.1:8443`. */
  readonly url: string
  /** SHA-256 of the certificate seen at first contact (lower-case hex, no colons); null accepts and reports whatever is there. */
  readonly certificate_sha256: string | null
}

/** Who asks. Adapters keep the session that they get for it, and log in again once when the server has forgotten it. */
export interface CmlLogin extends CmlEndpoint {
  readonly username: string
  readonly password: string
}

/** Calls that log in, as errors name them. A refusal of one of them is a refusal of the login, whatever was asked for. */
export const LOGIN_ACTIONS: readonly string[] = ['POST /auth_extended', 'POST /authenticate']
/** The step before: finding the credentials to log in with. CML is not asked yet. */
export const FIND_CREDENTIALS = 'authenticate'
