import type { Objects } from '@lcm/cloud/object-storage'
import { type S3Options, s3Objects } from '@lcm/cloud-aws/s3/object-storage'
import type { S3Environment } from './environment/environment.ts'
import { outboundFetch } from './outbound/outbound-fetch.ts'

/** `env.AWS_REGION` is the region of the first request for a bucket. An operator chose the endpoint, so it may be private. */
export function s3ObjectsOf(env: S3Environment, given: Pick<S3Options, 'clock' | 'credentials'>): Objects {
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  const chosen = endpoint === undefined ? [] : [new URL(endpoint).host]
  return s3Objects({
    ...given,
    region: env.AWS_REGION,
    fetch: outboundFetch({ privateHosts: [...env.LCM_OUTBOUND_PRIVATE_HOSTS, ...chosen] }),
    ...(endpoint === undefined ? {} : { endpoint }),
  })
}
