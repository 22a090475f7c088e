import { BlockList, isIP, isIPv6 } from 'node:net'

/** Addresses of proxies whose `X-Forwarded-For` counts. */
export type TrustedProxies = (address: string) => boolean

/** Whether an entry is an address or a CIDR range. */
export function isAddressRange(entry: string): boolean {
  const [address = '', bits, ...rest] = entry.split('/')
  const family = familyOf(address)
  if (family === null || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 'ipv4' ? 32 : 128))
}

export function trustedProxies(ranges: readonly string[]): TrustedProxies {
  const list = new BlockList()
  for (const range of ranges.filter(isAddressRange)) {
    const [address = '', bits] = range.split('/')
    const family = familyOf(address) ?? 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return address => {
    const plain = unmapped(address)
    const family = familyOf(plain)
    return family !== null && list.check(plain, family)
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' | null => {
  const version = isIP(address)
  if (version === 0) return null
  return version === 4 ? 'ipv4' : 'ipv6'
}

/** IPv4 addresses as sockets for both families write them. */
const unmapped = (address: string): string => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address

/** The last address that no trusted proxy has: the peer, or the one that the outermost trusted proxy saw. */
export function clientAddress(peer: string, forwardedFor: string | undefined, isTrusted: TrustedProxies): string {
  let client = peer
  for (const entry of (forwardedFor ?? '').split(',').reverse()) {
    if (!isTrusted(client)) break
    const address = withoutPort(entry.trim())
    if (familyOf(address) === null) break
    client = address
  }
  return client
}

/** Some proxies add the port of the client. */
const withoutPort = (entry: string): string =>
  /^\[(.+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(entry)?.[1] ?? entry

const LOOPBACK = '::1'

/** One subscriber usually has a /64 of IPv6 addresses, which counts as one address. */
export function addressKey(remote: string): string {
  const plain = unmapped(remote)
  if (!isIPv6(plain) || plain === LOOPBACK) return plain
  const [head = '', tail] = plain.toLowerCase().split('%')[0]?.split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
