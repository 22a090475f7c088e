import type { ObjectLocation } from '@lcm/cloud/object-storage'
import { awsHost } from '../aws-hostname.ts'

/** Address of one object. */
export interface S3Address {
  readonly origin: string
  readonly protocol: string
  readonly hostname: string
  readonly port: number | null
  /** Value of the `host` header. */
  readonly host: string
  /** Escaped, as it is sent and signed. */
  readonly path: string
}

/** Virtual-hosted style at AWS; path style elsewhere, and for names with dots, which no certificate covers. */
export function s3Address({ bucket, key }: ObjectLocation, region: string, endpoint?: string): S3Address {
  const isInPath = endpoint !== undefined || bucket.includes('.')
  const aws = awsHost('s3', region)
  const url = new URL(endpoint ?? `https://${isInPath ? aws : `${bucket}.${aws}`}`)
  const base = url.pathname.replace(/\/+$/, '')
  return {
    origin: url.origin,
    protocol: url.protocol,
    hostname: url.hostname,
    port: url.port === '' ? null : Number(url.port),
    host: url.host,
    path: `${base}/${isInPath ? `${bucket}/` : ''}${key.split('/').map(escaped).join('/')}`,
  }
}

/** Escapes everything but the unreserved characters of RFC 3986. */
const escaped = (segment: string): string =>
  encodeURIComponent(segment).replaceAll(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
