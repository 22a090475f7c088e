import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
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

/**
 * A fetch for addresses that people configure. It checks the address of each new connection, so a name that resolves to another
 * address the next time can't lead it into the private network.
 */
export function outboundFetch({ privateHosts, lookup = systemLookup }: OutboundOptions): typeof globalThis.fetch {
  const open = buildConnector({ lookup })
  const checked = buildConnector({ lookup: publicOnly(lookup) })
  const dispatcher = new Agent({
    connect(options, callback) {
      const { protocol, port } = options
      // undici removes the brackets of an IPv6 address.
      const literal = options.hostname.replace(/^\[(.*)\]$/, '$1')
      const hostname = isIP(literal) === 6 ? `[${literal}]` : literal
      if (isHostListed(privateHosts, { protocol, hostname, port })) return open(options, callback)
      // A literal address is connected to without a lookup.
      if (isIP(literal) !== 0 && !isPublicAddress(literal)) return callback(refused(hostname), null)
      return checked(options, callback)
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
