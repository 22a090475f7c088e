import { isTrusted } from '@lcm/domain/worker/trust'
import type { Worker } from '@lcm/domain/worker/worker'
import { type CmlLogin, FIND_CREDENTIALS } from './cml-access.ts'
import { CloudError } from './errors.ts'

export interface CmlCredentials {
  readonly username: string
  readonly password: string
}

export interface CmlLogins {
  /**
   * How to log in to a worker's CML at this address: with its own credentials, else with those of the fleet, which are only for
   * machines that LCM launched.
   */
  of(worker: Worker, url: string, signal: AbortSignal): Promise<CmlLogin>
  forget(workerId: string): void
}

/** What is kept for a worker, where it is not its own business to know by whom. */
export type ReadCmlSecrets = (
  workerId: string,
  signal: AbortSignal,
) => Promise<{ readonly cml_username: string | null; readonly cml_password: string | null }>

export function cmlLoginsBy(readSecrets: ReadCmlSecrets, defaults: CmlCredentials | null): CmlLogins {
  /** By worker: which secret it was, and what was in it. A new secret has a new reference. */
  const known = new Map<string, { readonly ref: string; readonly credentials: CmlCredentials | null }>()

  async function ownOf(worker: Worker, signal: AbortSignal): Promise<CmlCredentials | null> {
    const ref = worker.secret_refs.cml_login
    if (ref === undefined) return null
    const last = known.get(worker.id)
    if (last?.ref === ref) return last.credentials
    const { cml_username, cml_password } = await readSecrets(worker.id, signal)
    const credentials =
      cml_username === null || cml_password === null ? null : { username: cml_username, password: cml_password }
    known.set(worker.id, { ref, credentials })
    return credentials
  }

  return {
    async of(worker, url, signal) {
      // Nobody knows yet that this is the right server, and it must not be told our password to find out.
      if (worker.cml.certificate_sha256 === null && !url.startsWith('http:')) throw notPinned(worker)
      const own = await ownOf(worker, signal)
      if (own === null && !isTrusted(worker)) throw notLaunched(worker)
      const credentials = own ?? defaults
      if (credentials === null) throw noCredentials(worker)
      return { url, certificate_sha256: worker.cml.certificate_sha256, ...credentials }
    },
    forget: workerId => void known.delete(workerId),
  }
}

/** Nobody has asked CML anything yet. */
export const NO_CREDENTIALS = 'NoCredentials'

const noCredentials = (worker: Worker): CloudError =>
  new CloudError('auth', {
    code: NO_CREDENTIALS,
    action: FIND_CREDENTIALS,
    message: `nobody said how to log in to ${worker.name}; PUT its credentials, or set CML_DEFAULT_PASSWORD`,
  })

const notLaunched = ({ id, name }: Worker): CloudError =>
  new CloudError('auth', {
    code: NO_CREDENTIALS,
    action: FIND_CREDENTIALS,
    message: `LCM did not launch ${name} and does not send it the password of the fleet: \`lcm set credentials ${id}\``,
  })

const notPinned = (worker: Worker): CloudError =>
  new CloudError('transient', {
    code: 'NotPinned',
    action: FIND_CREDENTIALS,
    message: `the certificate of ${worker.name} has not been seen yet`,
  })
