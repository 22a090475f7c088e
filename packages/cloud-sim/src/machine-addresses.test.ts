import { describe, expect, it } from 'vitest'
import { addressNumber, addressOf, numberOf, samePlace, urlOf } from './machine-addresses.ts'

describe('addresses', () => {
  it('fill 127.64.0.0/10 and nothing else', () => {
    expect(addressOf(0, 'range')).toEqual({ host: '127.64.0.0', port: 8443 })
    expect(addressOf(2 ** 22 - 1, 'range')).toEqual({ host: '127.127.255.255', port: 8443 })
    expect(addressNumber(0.999999999, 10)).toBeLessThan(2 ** 22)
  })

  it.each(['range', 'ports'] as const)('can be read back as %s', addressing => {
    for (const number of [0, 1, 300, 70_000, 4_000_000]) {
      const read = numberOf(urlOf(addressOf(number, addressing)), addressing)
      expect(read !== null && samePlace(number, read, addressing)).toBe(true)
    }
  })

  it('reach CML without a port, as on real machines', () => {
    expect(numberOf('https://127.64.0.1', 'range')).toBe(1)
  })

  it('are distinguished from addresses outside the range', () => {
    for (const url of ['https://10.0.0.1:8443', 'https://127.64.0.1:443', 'http://127.64.0.1:8443', 'nonsense']) {
      expect(numberOf(url, 'range')).toBeNull()
    }
    expect(numberOf('https://127.64.0.1:20001', 'ports')).toBeNull()
  })
})
