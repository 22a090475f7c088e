import { approvalRequired, isTrusted } from '@lcm/domain/worker/instance-trust'
import type { Worker } from '@lcm/domain/worker/worker'
import { type CmlLogin, FIND_CREDENTIALS } from './cml-login.ts'
import { CloudError } from './errors.ts'

export interface CmlCredentials {
  readonly username: string
  readonly password: string
}

export interface CmlLoginResolver {
  /**
   * Login for a worker's CML at this address: the worker's own credentials, otherwise the fleet's. Only for machines that LCM launched or
   * that were approved.
   */
  resolve(worker: Worker, url: string, signal: AbortSignal): Promise<CmlLogin>
  forget(workerId: string): void
}

/** Reads the stored credentials of a worker. */
export type ReadCmlSecrets = (
  workerId: string,
  signal: AbortSignal,
) => Promise<{ readonly cml_username: string | null; readonly cml_password: string | null }>

export function cmlLoginResolver(readSecrets: ReadCmlSecrets, defaults: CmlCredentials | null): CmlLoginResolver {
  /** By worker: reference and content of its secret. A new secret has a new reference. */
  const known = new Map<string, { readonly ref: string; readonly credentials: CmlCredentials }>()

  async function ownOf(worker: Worker, signal: AbortSignal): Promise<CmlCredentials | null> {
    const ref = worker.secret_refs.cml_login
    if (ref === undefined) return null
    const last = known.get(worker.id)
    if (last?.ref === ref) return last.credentials
    const { cml_username, cml_password } = await readSecrets(worker.id, signal)
    // Credentials that were just replaced. The default password must not reach a machine that has its own.
    if (cml_username === null || cml_password === null) throw lostCredentials(worker)
    const credentials = { username: cml_username, password: cml_password }
    known.set(worker.id, { ref, credentials })
    return credentials
  }

  return {
    async resolve(worker, url, signal) {
      if (!isTrusted(worker)) throw notApproved(worker)
      // Without a pinned certificate the server may be an impostor, and must not get our password.
      if (worker.cml.certificate_sha256 === null) throw notPinned(worker)
      const credentials = (await ownOf(worker, signal)) ?? defaults
      if (credentials === null) throw noCredentials(worker)
      return { url, certificate_sha256: worker.cml.certificate_sha256, ...credentials }
    },
    forget: workerId => void known.delete(workerId),
  }
}

/** Codes of errors before any request to CML. */
export const NO_CREDENTIALS = 'NoCredentials'
export const NOT_APPROVED = 'NotApproved'

const noCredentials = (worker: Worker): CloudError =>
  new CloudError('auth', {
    code: NO_CREDENTIALS,
    action: FIND_CREDENTIALS,
    message: `no credentials for ${worker.name}; PUT its credentials, or set CML_DEFAULT_PASSWORD`,
  })

const lostCredentials = (worker: Worker): CloudError =>
  new CloudError('auth', {
    code: NO_CREDENTIALS,
    action: FIND_CREDENTIALS,
    message: `the credentials of ${worker.name} are missing: PUT them again`,
  })

const notApproved = (worker: Worker): CloudError =>
  new CloudError('auth', {
    code: NOT_APPROVED,
    action: FIND_CREDENTIALS,
    message: approvalRequired(worker).message,
  })

const notPinned = (worker: Worker): CloudError =>
  new CloudError('transient', {
    code: 'NotPinned',
    action: FIND_CREDENTIALS,
    message: `the certificate of ${worker.name} has not been seen yet`,
  })
