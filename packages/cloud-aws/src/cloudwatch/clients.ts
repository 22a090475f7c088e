import { createRequire } from 'node:module'
import type { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import {
  ATTEMPT_OBSERVER,
  type AwsOptions,
  clientConfig,
  LOGGER,
  observeAttempts,
  READ,
  type RegionalClients,
  regionalClients,
} from '../aws-clients.ts'
import { limitResponseSize, RESPONSE_SIZE_LIMIT } from '../response-size-limit.ts'

export type CloudWatchSdk = typeof import('@aws-sdk/client-cloudwatch')

/** Loaded only once somebody needs it. */
export const cloudWatchSdk = (): CloudWatchSdk => createRequire(import.meta.url)('@aws-sdk/client-cloudwatch')

export const cloudWatchClients = (options: AwsOptions): RegionalClients<CloudWatchClient> =>
  regionalClients(
    region => {
      const client = new (cloudWatchSdk().CloudWatchClient)({ region, ...READ, ...clientConfig(options) })
      client.middlewareStack.add(observeAttempts(region, options), ATTEMPT_OBSERVER)
      client.middlewareStack.add(limitResponseSize, RESPONSE_SIZE_LIMIT)
      client.middlewareStack.remove(LOGGER)
      return client
    },
    client => client.destroy(),
  )
