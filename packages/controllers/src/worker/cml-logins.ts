import type { Client } from '@lcm/client/client'
import { type CmlCredentials, type CmlLoginResolver, cmlLoginResolver } from '@lcm/cloud/cml-login-resolver'

/** Logins of the CML servers: the worker's own credentials from the API, or those of the fleet. */
export const cmlLogins = (client: Client, defaults: CmlCredentials | null): CmlLoginResolver =>
  cmlLoginResolver((id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }), defaults)
