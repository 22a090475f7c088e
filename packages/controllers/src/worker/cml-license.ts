import type { Client } from '@lcm/client/client'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import type { CmlLicensing, CmlSystem } from '@lcm/cloud/cml-system'
import { CloudError } from '@lcm/cloud/errors'
import { textReason } from '@lcm/domain/reason'
import { type LicenseOutcome, releasesLicense } from '@lcm/domain/worker/decision/license-operation'
import type { LicenseObservation, WorkerPolicy } from '@lcm/domain/worker/observation'
import type { Worker } from '@lcm/domain/worker/worker'

export interface LicenseParts {
  readonly cml: CmlSystem
  readonly logins: CmlLoginResolver
  readonly client: Client
}

/** Limit of a cloud's message in a record. */
const WORDS_MAX = 500
/** Limit of the API for a name. */
const HOSTNAME_MAX = 200

/** Whether the next decision may depend on the license state of CML. */
export function dependsOnLicense(worker: Worker, policy: WorkerPolicy): boolean {
  if (worker.status === 'RUNNING')
    return worker.license.pending_operation !== null || worker.refresh_requested_at !== null
  // It may have been registered in CML since the last probe.
  if (worker.status === 'TERMINATING') return true
  return worker.status === 'STOPPING' && releasesLicense(worker, policy)
}

/** A CML that does not answer is a result, not an error. */
export async function readLicense(
  { cml, logins }: LicenseParts,
  worker: Worker,
  url: string,
  signal: AbortSignal,
): Promise<LicenseObservation> {
  try {
    const { udi, ...seen } = await cml.licensing(await logins.resolve(worker, url, signal), signal)
    return { kind: 'seen', ...seen, udi: udi?.product_uuid ?? null, hostname: nameIn(udi) }
  } catch (error) {
    if (error instanceof CloudError) return { kind: 'unknown', because: textReason(error.message) }
    throw error
  }
}

/** Null for servers that report no name, or an empty one. */
const nameIn = (udi: CmlLicensing['udi']): string | null => udi?.hostname.slice(0, HOSTNAME_MAX) || null

/**
 * Registers or deregisters the license. Every refusal is an outcome. `permit` throws when the change is no longer allowed; it is
 * called immediately before the request is sent.
 */
export async function changeLicense(
  parts: LicenseParts,
  worker: Worker,
  { act, url, permit }: { act: 'register_license' | 'deregister_license'; url: string; permit: () => void },
  signal: AbortSignal,
): Promise<LicenseOutcome> {
  try {
    const login = await parts.logins.resolve(worker, url, signal)
    if (act === 'deregister_license') {
      permit()
      return { kind: await parts.cml.deregister(login, signal) }
    }
    const token = await tokenOf(parts.client, worker, signal)
    permit()
    await parts.cml.register(login, { product: worker.license.product, token, extra_nodes: null }, signal)
    return { kind: 'taken' }
  } catch (error) {
    if (!(error instanceof CloudError)) throw error
    return { kind: 'refused', errorClass: error.errorClass, message: error.message.slice(0, WORDS_MAX) }
  }
}

async function tokenOf(client: Client, worker: Worker, signal: AbortSignal): Promise<string> {
  const { license_token } = await client.call('getWorkerSecrets', { params: { id: worker.id }, signal })
  if (license_token !== null) return license_token
  throw new CloudError('invalid', {
    code: 'NoToken',
    action: 'register',
    message: `no license token is kept for ${worker.name}; PUT its license again`,
  })
}
