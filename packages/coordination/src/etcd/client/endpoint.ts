import { isIPv4, isIPv6 } from 'node:net'

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

export interface Endpoint {
  /** `host:port`, for messages. */
  readonly name: string
  /** Target in gRPC syntax. */
  readonly target: string
  readonly isEncrypted: boolean
}

export class EtcdEndpointError extends Error {
  readonly code = 'etcd_endpoint_invalid'
  readonly advice = 'write host:port, such as localhost:2379 or [::1]:2379'
  constructor(endpoint: string) {
    super(`"${endpoint}" is not an etcd endpoint`)
    this.name = 'EtcdEndpointError'
  }
}

const DEFAULT_PORT = 2379
const PORT_MAX = 65_535
const FORM = /^(?:(https?):\/\/)?(?:\[([0-9a-f:.]+)\]|([^\s:/?#[\]]+))(?::(\d{1,5}))?\/?$/i

/** The scheme decides about encryption; without one the presence of certificates does. Throws `EtcdEndpointError`. */
export function parseEndpoint(text: string, isEncryptedByDefault: boolean): Endpoint {
  const { host, port } = parseAddress(text)
  const [, scheme] = FORM.exec(text) ?? []
  const name = joinAddress({ host, port })
  const resolver = isIPv4(host) ? 'ipv4' : isIPv6(host) ? 'ipv6' : 'dns'
  const isEncrypted = scheme === undefined ? isEncryptedByDefault : scheme.toLowerCase() === 'https'
  return { name, target: `${resolver}:${name}`, isEncrypted }
}

/** Throws `EtcdEndpointError`. */
export function parseAddress(text: string): HostAndPort {
  const [, , bracketed, plain, digits] = FORM.exec(text) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? DEFAULT_PORT : Number(digits)
  const isFine = host !== undefined && (bracketed === undefined || isIPv6(bracketed)) && port > 0 && port <= PORT_MAX
  if (!isFine) throw new EtcdEndpointError(text)
  return { host, port }
}

export const joinAddress = ({ host, port }: HostAndPort): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
