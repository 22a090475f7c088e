/** The purpose of an IP address. Only `public` addresses belong to the internet. */
export type AddressClass =
  | 'public'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link_local'
  | 'metadata'
  | 'multicast'
  | 'reserved'
  | 'malformed'

type Range = readonly [cidr: string, of: AddressClass]

/** The first matching range counts. */
const IPV4_RANGES: readonly Range[] = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['127.0.0.0/8', 'loopback'],
  // AWS, Azure and others answer requests for metadata and credentials in the link-local range.
  ['169.254.0.0/16', 'link_local'],
  ['168.63.129.16/32', 'metadata'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'reserved'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'reserved'],
  ['203.0.113.0/24', 'reserved'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
]
const IPV6_RANGES: readonly Range[] = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['64:ff9b:1::/48', 'private'],
  ['fc00::/7', 'private'],
  ['fe80::/10', 'link_local'],
  ['fec0::/10', 'private'],
  ['ff00::/8', 'multicast'],
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'reserved'],
  ['3fff::/20', 'reserved'],
  ['2000::/3', 'public'],
  ['::/0', 'reserved'],
]
/** IPv6 addresses that lead to an IPv4 address, and the byte where it begins: mapped, translated, NAT64 and 6to4. */
const EMBEDDED: readonly (readonly [cidr: string, at: number])[] = [
  ['::ffff:0:0/96', 12],
  ['::ffff:0:0:0/96', 12],
  ['64:ff9b::/96', 12],
  ['2002::/16', 2],
]

interface Network {
  readonly bytes: readonly number[]
  readonly bits: number
}

function networkOf(cidr: string): Network {
  const [address = '', bits = ''] = cidr.split('/')
  return { bytes: bytesOf(address) ?? [], bits: Number(bits) }
}

const RANGES = [...IPV4_RANGES, ...IPV6_RANGES].map(([cidr, of]) => ({ network: networkOf(cidr), of }))
const EMBEDDINGS = EMBEDDED.map(([cidr, at]) => ({ network: networkOf(cidr), at }))

/** Classifies an address in the form that resolvers and sockets report. */
export function addressClass(address: string): AddressClass {
  const bytes = bytesOf(address.replace(/%.*$/, ''))
  return bytes === null ? 'malformed' : classOf(bytes)
}

export const isPublicAddress = (address: string): boolean => addressClass(address) === 'public'

function classOf(bytes: readonly number[]): AddressClass {
  const embedding = EMBEDDINGS.find(({ network }) => contains(network, bytes))
  if (embedding !== undefined) return classOf(bytes.slice(embedding.at, embedding.at + 4))
  return RANGES.find(({ network }) => contains(network, bytes))?.of ?? 'public'
}

function contains({ bytes, bits }: Network, address: readonly number[]): boolean {
  if (bytes.length !== address.length) return false
  return bytes.every((byte, place) => {
    const left = Math.min(8, Math.max(0, bits - place * 8))
    const mask = 0xff & (0xff << (8 - left))
    return (byte & mask) === ((address[place] ?? 0) & mask)
  })
}

function bytesOf(address: string): readonly number[] | null {
  return address.includes(':') ? ipv6Bytes(address) : ipv4Bytes(address)
}

function ipv4Bytes(address: string): readonly number[] | null {
  if (!/^(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})$/.test(address)) return null
  const bytes = address.split('.').map(Number)
  return bytes.some(byte => byte > 255) ? null : bytes
}

/** The last 32 bits may be written as an IPv4 address. */
function ipv6Bytes(address: string): readonly number[] | null {
  const [, groups = address, dotted] = /^(.*:)([^:]*\.[^:]*)$/.exec(address) ?? []
  const end = dotted === undefined ? [] : ipv4Bytes(dotted)
  if (end === null) return null
  // A single colon before the IPv4 address ends a group; two are the gap.
  const text = dotted === undefined || groups.endsWith('::') ? groups : groups.slice(0, -1)
  const [head, tail, ...more] = text.split('::').map(groupBytes)
  if (head === undefined || head === null || tail === null || more.length > 0) return null
  const given = [...(tail ?? []), ...end]
  if (tail === undefined) return head.length + end.length === 16 ? [...head, ...end] : null
  const missing = 16 - head.length - given.length
  return missing < 2 ? null : [...head, ...Array<number>(missing).fill(0), ...given]
}

function groupBytes(text: string): readonly number[] | null {
  if (text === '') return []
  const groups = text.split(':')
  if (!groups.every(group => /^[0-9a-f]{1,4}$/i.test(group))) return null
  return groups.map(group => Number.parseInt(group, 16)).flatMap(value => [value >> 8, value & 0xff])
}
