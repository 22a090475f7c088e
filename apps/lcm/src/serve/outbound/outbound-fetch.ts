import { lookup as systemLookup } from 'node:dns'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { isPublicAddress } from '@lcm/domain/outbound/address-class'
import { isHostListed } from '@lcm/domain/outbound/host-list'
import { Agent, buildConnector, fetch as undiciFetch } from 'undici'

export interface OutboundOptions {
  /** Hosts that may have addresses that are not public. */
  readonly privateHosts: readonly string[]
  /** Resolves host names; by default like the system. */
  readonly lookup?: LookupFunction
}

/** The host has an address that is not public, and no operator has listed it. No connection was opened. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
  readonly code = 'ADDRESS_REFUSED'
}

interface Destination {
  readonly protocol: string
  /** IPv6 addresses are in brackets, or not. */
  readonly hostname: string
  /** Empty for the default port of http and https. */
  readonly port: string
}

/** Which addresses a host may have. A literal address is connected to without a lookup, so it is judged here. */
function permittedAddresses(
  { privateHosts }: OutboundOptions,
  { protocol, hostname: given, port }: Destination,
): 'any' | 'public' | AddressRefusedError {
  const literal = given.replace(/^\[(.*)\]$/, '$1')
  const hostname = isIP(literal) === 6 ? `[${literal}]` : literal
  if (isHostListed(privateHosts, { protocol, hostname, port })) return 'any'
  return isIP(literal) !== 0 && !isPublicAddress(literal) ? refused(hostname) : 'public'
}

/** Opens a TCP connection, and checks its address in the same way. */
export function outboundSocket(
  outbound: OutboundOptions,
  { hostname, port }: Destination,
): Socket | AddressRefusedError {
  const { lookup = systemLookup } = outbound
  const permitted = permittedAddresses(outbound, { protocol: '', hostname, port })
  if (permitted instanceof AddressRefusedError) return permitted
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return connect({ host, port: Number(port), lookup: permitted === 'any' ? lookup : publicOnly(lookup) })
}

/**
 * A fetch for addresses that people configure. It checks the address of each new connection, so a name that resolves to another
 * address the next time can't lead it into the private network.
 */
export function outboundFetch(outbound: OutboundOptions): typeof globalThis.fetch {
  const { lookup = systemLookup } = outbound
  const open = buildConnector({ lookup })
  const checked = buildConnector({ lookup: publicOnly(lookup) })
  const dispatcher = new Agent({
    connect(options, callback) {
      const permitted = permittedAddresses(outbound, options)
      if (permitted instanceof AddressRefusedError) return callback(permitted, null)
      return (permitted === 'any' ? open : checked)(options, callback)
    },
  })
  return (input, init = {}) => {
    // Node 20 can't read the limit of listeners of a signal without one, which linkedAbort makes; a derived signal has one.
    const signal = init.signal ? AbortSignal.any([init.signal]) : null
    // Both have the types of the same standard, declared twice.
    return undiciFetch(input as string, { ...(init as object), signal, dispatcher }) as Promise<never>
  }
}

const refused = (host: string) => new AddressRefusedError(`the address of ${host} is not public`)

/** One address that is not public refuses the whole answer: which one would be used is up to the socket. */
const publicOnly =
  (lookup: LookupFunction): LookupFunction =>
  (host, options, callback) =>
    lookup(host, options, (error, answer, family) => {
      const addresses = Array.isArray(answer) ? answer.map(({ address }) => address) : [answer]
      if (error === null && !addresses.every(isPublicAddress)) return callback(refused(host), '', 0)
      callback(error, answer, family)
    })
