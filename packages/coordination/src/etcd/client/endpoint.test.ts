import { describe, expect, it } from 'vitest'
import { joinAddress, parseAddress, parseEndpoint } from './endpoint.ts'

describe('endpoints', () => {
  it.each([
    ['localhost:2379', 'localhost:2379', 'dns:localhost:2379'],
    ['etcd-0.etcd.svc', 'etcd-0.etcd.svc:2379', 'dns:etcd-0.etcd.svc:2379'],
    ['10.0.0.7:4001', '10.0.0.7:4001', 'ipv4:10.0.0.7:4001'],
    ['[::1]:2379', '[::1]:2379', 'ipv6:[::1]:2379'],
    ['[fd00::7]', '[fd00::7]:2379', 'ipv6:[fd00::7]:2379'],
    ['http://etcd:2379/', 'etcd:2379', 'dns:etcd:2379'],
  ])('parses %s', (text, name, target) => {
    expect(parseEndpoint(text, false)).toEqual({ name, target, isEncrypted: false })
  })

  it('are encrypted by their scheme, or by default without one', () => {
    const isEncrypted = (text: string, byDefault: boolean) => parseEndpoint(text, byDefault).isEncrypted
    expect([isEncrypted('https://a', false), isEncrypted('a', true), isEncrypted('http://a', true)]).toEqual([
      true,
      true,
      false,
    ])
  })

  it.each(['', ' ', ':2379', 'a:0', 'a:70000', 'a:b', 'ftp://a', '::1', '[a]:1', 'a/b', 'a b:1', 'http://'])(
    'refuses "%s" by name',
    text => {
      expect(() => parseEndpoint(text, false)).toThrow(`"${text}" is not an etcd endpoint`)
      expect(() => parseEndpoint(text, false)).toThrow(expect.objectContaining({ code: 'etcd_endpoint_invalid' }))
    },
  )
})

it.each(['127.0.0.1:80', '[::1]:80', 'host:80'])('splits and joins %s', text => {
  expect(joinAddress(parseAddress(text))).toBe(text)
})
