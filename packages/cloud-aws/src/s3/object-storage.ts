import { classifyAwsCode } from '@lcm/cloud/classify-aws-errors'
import { CloudError } from '@lcm/cloud/errors'
import type { ObjectLocation, Objects } from '@lcm/cloud/object-storage'
import { Sha256Node as sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'
import type { AwsCredentials, AwsOptions } from '../aws-clients.ts'
import { cloudCall } from '../cloud-call.ts'
import { type S3Address, s3Address } from './address.ts'

const ACTION = 'GetObject'
const DEADLINE_MS = 60_000
const ERROR_BYTES_MAX = 20_000

export interface S3Options extends Pick<AwsOptions, 'clock' | 'credentials'> {
  readonly region: string
  /** S3 endpoint instead of AWS's own; buckets are then part of the path. */
  readonly endpoint?: string
  readonly fetch: typeof globalThis.fetch
}

/** One signed GET: all that LCM needs of S3, whose client has megabytes. */
export function s3Objects(options: S3Options): Objects {
  const credentials = options.credentials ?? defaultCredentials()
  return {
    async read(place, bytesMax, signal) {
      const limits = { clock: options.clock, deadlineMs: DEADLINE_MS, signals: [signal] }
      try {
        return await cloudCall(ACTION, limits, async within => {
          const get = (region: string) => signedGet({ ...options, credentials, region }, place, within)
          const response = await get(options.region)
          const elsewhere = regionOf(response)
          if (elsewhere === null || elsewhere === options.region) return wholeOf(response, bytesMax)
          await response.body?.cancel()
          return wholeOf(await get(elsewhere), bytesMax)
        })
      } catch (error) {
        if (signal.aborted) throw signal.reason
        throw error
      }
    },
  }
}

type Credentials = AwsCredentials | (() => Promise<AwsCredentials>)

/** The SDK's own chain; loaded on first use. */
function defaultCredentials(): () => Promise<AwsCredentials> {
  let chain: (() => Promise<AwsCredentials>) | null = null
  return async () => {
    const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
    chain ??= defaultProvider()
    return chain()
  }
}

async function signedGet(
  {
    clock,
    credentials,
    region,
    endpoint,
    fetch,
  }: Omit<S3Options, 'credentials'> & { readonly credentials: Credentials },
  place: ObjectLocation,
  signal: AbortSignal,
): Promise<Response> {
  const address = s3Address(place, region, endpoint)
  // The path is signed as it is sent: unlike other services, S3 does not escape it twice.
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256, uriEscapePath: false })
  const { headers } = await signer.sign(requestOf(address), { signingDate: new Date(clock.now()) })
  const { host: _, ...sent } = headers
  // Redirects of a signed request are not followed: the signature is valid for this host only.
  return fetch(`${address.origin}${address.path}`, { headers: sent, redirect: 'manual', signal })
}

const requestOf = ({ protocol, hostname, port, host, path }: S3Address) => ({
  method: 'GET',
  protocol,
  hostname,
  ...(port === null ? {} : { port }),
  path,
  headers: { host },
})

/** Actual region of the bucket, when it is not the requested one. */
const regionOf = ({ status, headers }: Response): string | null =>
  status === 301 || status === 307 || status === 400 ? headers.get('x-amz-bucket-region') : null

async function wholeOf(response: Response, bytesMax: number): Promise<Buffer> {
  if (response.status !== 200) throw await refusal(response)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax)
      throw new CloudError('invalid', {
        code: 'TooLarge',
        action: ACTION,
        message: `it is larger than ${bytesMax} bytes`,
      })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function refusal(response: Response): Promise<CloudError> {
  const text = await beginningOf(response)
  const code = /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(text)?.[1] ?? `HTTP${response.status}`
  const message = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1] ?? `it answered with status ${response.status}`
  const errorClass = MISSING.has(code) ? 'not_found' : classifyAwsCode(code, response.status)
  return new CloudError(errorClass, { code, action: ACTION, message })
}

/** A gateway may reject with a long page. */
async function beginningOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= ERROR_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString()
}

const MISSING: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchBucket', 'HTTP404'])
