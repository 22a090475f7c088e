import { createRequire } from 'node:module'
import type { EC2Client } from '@aws-sdk/client-ec2'
import {
  ATTEMPT_OBSERVER,
  type AwsOptions,
  clientConfig,
  LOGGER,
  MUTATE,
  observeAttempts,
  READ,
  type RegionalClients,
  regionalClients,
} from '../aws-clients.ts'
import { limitResponseSize, RESPONSE_SIZE_LIMIT } from '../response-size-limit.ts'

export type Ec2Sdk = typeof import('@aws-sdk/client-ec2')

/** Two clients, because the SDK's limiter and retry quota are one per client: throttled launches must not slow reads. */
export interface Ec2Clients {
  readonly read: EC2Client
  readonly mutate: EC2Client
}

/** `require` loads the package in half the time of `import`, and only once somebody needs it. */
export const ec2Sdk = (): Ec2Sdk => createRequire(import.meta.url)('@aws-sdk/client-ec2')

export function ec2Clients(options: AwsOptions): RegionalClients<Ec2Clients> {
  const newClient = (region: string, retries: typeof READ | typeof MUTATE): EC2Client => {
    const client = new (ec2Sdk().EC2Client)({ region, ...retries, ...clientConfig(options) })
    client.middlewareStack.add(observeAttempts(region, options), ATTEMPT_OBSERVER)
    client.middlewareStack.add(limitResponseSize, RESPONSE_SIZE_LIMIT)
    client.middlewareStack.remove(LOGGER)
    return client
  }
  return regionalClients(
    region => ({ read: newClient(region, READ), mutate: newClient(region, MUTATE) }),
    ({ read, mutate }) => {
      read.destroy()
      mutate.destroy()
    },
  )
}

/** Client of a region, the SDK's commands, and the signal of a call. */
export interface Ec2Call {
  readonly client: EC2Client
  readonly sdk: Ec2Sdk
  readonly signal: AbortSignal
}
