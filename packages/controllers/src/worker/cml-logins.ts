import type { Client } from '@lcm/client/client'
import { type CmlCredentials, type CmlLoginResolver, cmlLoginResolver } from '@lcm/cloud/cml-credentials'

export const cmlLogins = (client: Client, defaults: CmlCredentials | null): CmlLoginResolver =>
  cmlLoginResolver((id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }), defaults)
