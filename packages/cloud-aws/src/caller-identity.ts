import { Sha256Node as sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'
import type { AwsCredentials } from './aws-clients.ts'
import { awsHost } from './aws-hostname.ts'

export interface CallerIdentityOptions {
  readonly credentials: AwsCredentials
  readonly region: string
  /** Endpoint instead of AWS's own. */
  readonly endpoint: string | null
  readonly nowMs: number
  readonly fetch: typeof globalThis.fetch
  readonly signal: AbortSignal
}

export interface Caller {
  /** Null if the response does not name the caller. */
  readonly arn: string | null
  /** Why the credentials were rejected; null if they were not. */
  readonly refusal: { readonly code: string; readonly message: string } | null
  /** AWS's clock; null when the response had no date. */
  readonly atMs: number | null
}

const QUERY = { Action: 'GetCallerIdentity', Version: '2011-06-15' } as const
const ANSWER_CHARS_MAX = 10_000

/** Reads the caller's identity, which needs no permission, and the time at AWS. */
export async function callerIdentity({
  credentials,
  region,
  endpoint,
  nowMs,
  fetch,
  signal,
}: CallerIdentityOptions): Promise<Caller> {
  const url = new URL(endpoint ?? `https://${awsHost('sts', region)}`)
  const signer = new SignatureV4({ service: 'sts', region, credentials, sha256 })
  const body = new URLSearchParams(QUERY).toString()
  const request = {
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    path: '/',
    headers: { host: url.host, 'content-type': 'application/x-www-form-urlencoded' },
    body,
  }
  const { headers } = await signer.sign(request, { signingDate: new Date(nowMs) })
  const { host: _, ...sent } = headers
  const response = await fetch(`${url.origin}/`, { method: 'POST', headers: sent, body, redirect: 'manual', signal })
  const text = (await response.text()).slice(0, ANSWER_CHARS_MAX)
  const atMs = Date.parse(response.headers.get('date') ?? '')
  return {
    arn: response.status === 200 ? (/<Arn>([^<]{1,300})<\/Arn>/.exec(text)?.[1] ?? null) : null,
    refusal: response.status === 401 || response.status === 403 ? refusalIn(text, response.status) : null,
    atMs: Number.isNaN(atMs) ? null : atMs,
  }
}

const refusalIn = (text: string, status: number): Caller['refusal'] => ({
  code: /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(text)?.[1] ?? `HTTP${status}`,
  message: /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1] ?? `it answered with status ${status}`,
})
