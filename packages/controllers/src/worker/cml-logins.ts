import type { Client } from '@lcm/client/client'
import { type CmlCredentials, type CmlLogins, cmlLoginsBy } from '@lcm/cloud/cml-logins'

export const cmlLogins = (client: Client, defaults: CmlCredentials | null): CmlLogins =>
  cmlLoginsBy((id, signal) => client.call('getWorkerSecrets', { params: { id }, signal }), defaults)
