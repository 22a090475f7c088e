import { describe, expect, it } from 'vitest'
import { addressKey, clientAddress, isAddressRange, trustedProxies } from './client-address.ts'

describe('the client', () => {
  const proxies = trustedProxies(['10.0.0.0/8', '192.0.2.5', 'fd00::/8'])

  it.each([
    ['the peer, without a proxy', '203.0.113.9', undefined, '203.0.113.9'],
    ['the peer, whatever it claims', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the address that the proxy saw', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['not what the client wrote itself', '10.1.2.3', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['the one before a chain of proxies', '10.1.2.3', '198.51.100.1, 203.0.113.9, 192.0.2.5', '203.0.113.9'],
    ['the outermost proxy, if all are trusted', '10.1.2.3', '10.9.9.9', '10.9.9.9'],
    ['the proxy, for an entry that is no address', '10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['the proxy, without a header', '10.1.2.3', undefined, '10.1.2.3'],
    ['the proxy in either notation', '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['an address without its port', '10.1.2.3', '203.0.113.9:5123', '203.0.113.9'],
    ['an IPv6 address without its port', 'fd00::1', '[2001:db8::9]:5123', '2001:db8::9'],
  ])('is %s', (_, peer, forwardedFor, client) => {
    expect(clientAddress(peer, forwardedFor, proxies)).toBe(client)
  })
})

it.each([
  ['10.0.0.1', true],
  ['10.0.0.0/8', true],
  ['fd00::/8', true],
  ['10.0.0.0/33', false],
  ['10.0.0.0/', false],
  ['10.0.0.0/8/8', false],
  ['10.0.0', false],
  ['proxy.example', false],
  ['fd00::/129', false],
  ['10.0.0.0/-1', false],
  ['*', false],
])('%s is an address range: %s', (entry, isOne) => {
  expect(isAddressRange(entry)).toBe(isOne)
})

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::1', '::1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['unix', 'unix'],
])('%s counts as %s', (remote, key) => {
  expect(addressKey(remote)).toBe(key)
})
