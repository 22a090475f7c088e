/** The license of every worker. */
export const LICENSE = { product: 'CML_Enterprise', token: 'token-of-the-account' } as const
/** The login of every simulated server. */
export const CML_LOGIN = { username: 'admin', password: 'password-of-every-server' } as const
/** Marks machines of attackers for the invariants, whatever their other tags say. LCM doesn't read it. */
export const PLANTED_TAG = 'planted'
const IN_USER_DATA = 'word-in-the-user-data'
export const USER_DATA = `#cloud-config\nwrite_files: [{ path: /etc/word, content: ${IN_USER_DATA} }]\n`

/** Secrets that only controllers may read, and that no process may write or log. */
export const PLANTED: readonly string[] = [LICENSE.token, CML_LOGIN.password, IN_USER_DATA]
