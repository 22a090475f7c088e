import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressClass, isPublicAddress } from './address-class.ts'

describe('the class of an address', () => {
  it.each([
    ['0.0.0.0', 'unspecified'],
    ['10.255.255.255', 'private'],
    ['11.0.0.0', 'public'],
    ['100.63.255.255', 'public'],
    ['100.64.0.1', 'shared'],
    ['100.127.255.255', 'shared'],
    ['100.128.0.0', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link_local'],
    ['168.63.129.16', 'metadata'],
    ['172.15.255.255', 'public'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.0', 'public'],
    ['192.0.0.192', 'reserved'],
    ['192.168.1.1', 'private'],
    ['198.19.255.255', 'reserved'],
    ['203.0.113.7', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'reserved'],
    ['8.8.8.8', 'public'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['fd00:ec2::254', 'private'],
    ['fe80::1', 'link_local'],
    ['fe80::1%eth0', 'link_local'],
    ['fec0::1', 'private'],
    ['ff02::1', 'multicast'],
    ['2606:4700::1111', 'public'],
    ['2001:4860:4860::8888', 'public'],
    ['2001:db8::1', 'reserved'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'reserved'],
    ['100::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['::7f00:1', 'reserved'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::FFFF:169.254.169.254', 'link_local'],
    ['::ffff:8.8.8.8', 'public'],
    ['::ffff:0:10.0.0.1', 'private'],
    ['64:ff9b::10.0.0.1', 'private'],
    ['64:ff9b::a9fe:a9fe', 'link_local'],
    ['64:ff9b::8.8.8.8', 'public'],
    ['64:ff9b:1::8.8.8.8', 'private'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:a00:1::1', 'private'],
    ['2002:808:808::1', 'public'],
  ])('%s is %s', (address, of) => expect(addressClass(address)).toBe(of))

  it.each([
    '',
    'localhost',
    '127.1',
    '010.0.0.1',
    '256.1.1.1',
    '1.2.3.4.5',
    '1::2::3',
    ':1',
    '1:2:3',
    'g::1',
    '::1.2.3',
  ])('%j is malformed', address => expect(addressClass(address)).toBe('malformed'))
})

/** Everything but the ranges that lead to an IPv4 address, in the words of Node. */
const LISTED: Readonly<Record<'ipv4' | 'ipv6', readonly string[]>> = {
  ipv4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '168.63.129.16/32',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/3',
  ],
  ipv6: ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '3fff::/20'],
}
/** Node also compares an IPv4 address with IPv6 ranges, so each family has its own list. */
function blockListOf(family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const cidr of LISTED[family]) {
    const [address = '', bits] = cidr.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
const blocked = { ipv4: blockListOf('ipv4'), ipv6: blockListOf('ipv6') }

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
/** Half of the addresses are at the edge of a range. */
const firsts = fc.constantFrom(0, 9, 10, 11, 100, 126, 127, 128, 168, 169, 172, 192, 198, 203, 223, 224, 239, 240, 255)
const seconds = fc.constantFrom(0, 15, 16, 18, 20, 31, 32, 51, 63, 64, 88, 127, 128, 168, 254)
const ipv4 = fc
  .oneof(octets, fc.tuple(firsts, seconds, fc.constantFrom(0, 2, 99, 100, 113, 129), fc.nat(255)))
  .map(each => each.join('.'))
const group = fc.oneof(fc.constantFrom(0, 1, 0xff, 0x2001, 0x2002, 0xdb8, 0x3fff, 0xfc00, 0xfe80), fc.nat(0xffff))
const ipv6 = fc.array(group, { minLength: 8, maxLength: 8 }).map(each => each.map(part => part.toString(16)).join(':'))

describe('Node agrees', () => {
  it('about every IPv4 address', () => {
    fc.assert(fc.property(ipv4, address => isPublicAddress(address) === !blocked.ipv4.check(address, 'ipv4')))
  })

  it('about every IPv6 address that holds no IPv4 address', () => {
    const plain = ipv6.filter(address => !/^(2002|64:ff9b:0:0:0:0|0:0:0:0:ffff:0|0:0:0:0:0:ffff):/.test(address))
    fc.assert(fc.property(plain, address => isPublicAddress(address) === !blocked.ipv6.check(address, 'ipv6')))
  })

  it('about what an address is', () => {
    const texts = fc.oneof(ipv4, ipv6, fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[0-9a-f:.]{0,20}$/))
    fc.assert(fc.property(texts, text => (addressClass(text) === 'malformed') === (isIP(text) === 0)))
  })
})

it('an IPv6 address that holds an IPv4 address has its class', () => {
  const forms = [
    (address: string) => `::ffff:${address}`,
    (address: string) => `::ffff:0:${address}`,
    (address: string) => `64:ff9b::${address}`,
    (address: string) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
      return `2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::1`
    },
  ]
  fc.assert(
    fc.property(
      ipv4,
      fc.constantFrom(...forms),
      (address, form) => addressClass(form(address)) === addressClass(address),
    ),
  )
})
