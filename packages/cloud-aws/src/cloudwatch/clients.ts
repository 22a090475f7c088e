import { createRequire } from 'node:module'
import type { CloudWatchClient } from '@aws-sdk/client-cloudwatch'
import {
  ATTEMPTS,
  type AwsOptions,
  clientConfig,
  LOGGER,
  observingAttempts,
  READ,
  type RegionalClients,
  regionalClients,
} from '../aws-clients.ts'
import { ANSWERS, boundingAnswers } from '../bounded-answers.ts'

export type CloudWatchSdk = typeof import('@aws-sdk/client-cloudwatch')

/** Loaded only once somebody needs it. */
export const cloudWatchSdk = (): CloudWatchSdk => createRequire(import.meta.url)('@aws-sdk/client-cloudwatch')

export const cloudWatchClients = (options: AwsOptions): RegionalClients<CloudWatchClient> =>
  regionalClients(
    region => {
      const client = new (cloudWatchSdk().CloudWatchClient)({ region, ...READ, ...clientConfig(options) })
      client.middlewareStack.add(observingAttempts(region, options), ATTEMPTS)
      client.middlewareStack.add(boundingAnswers, ANSWERS)
      client.middlewareStack.remove(LOGGER)
      return client
    },
    client => client.destroy(),
  )
