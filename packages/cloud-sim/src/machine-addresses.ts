/** 127.64.0.0/10: everything in it is local on Linux, and nothing else uses it. */
const RANGE_BASE = 0x7f400000
const RANGE_SIZE = 2 ** 22
const CML_PORT = 8443

/** Below the ephemeral ports of Linux and macOS. */
const PORT_BASE = 20_000
const PORT_COUNT = 12_000

/** `range`: an address per start. `ports`: a port of 127.0.0.1 per start, where the range is not local. */
export type Addressing = 'range' | 'ports'

export interface Address {
  readonly host: string
  readonly port: number
}

/**
 * Start n gets the n-th address after an offset that depends on the seed, so two simulated clouds rarely share an
 * address.
 */
export function addressNumber(seedFraction: number, startCount: number): number {
  return (Math.floor(seedFraction * RANGE_SIZE) + startCount) % RANGE_SIZE
}

export function addressOf(number: number, addressing: Addressing): Address {
  if (addressing === 'ports') return { host: '127.0.0.1', port: PORT_BASE + (number % PORT_COUNT) }
  const bits = RANGE_BASE + number
  const bytes = [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255]
  return { host: bytes.join('.'), port: CML_PORT }
}

export const urlOf = (address: Address): string => `https://${address.host}:${address.port}`

/**
 * Returns the number behind an endpoint, or null for an address outside the range. An endpoint without a port is that
 * of CML, as on real machines; only root could listen on that port here.
 */
export function numberOf(endpoint: string, addressing: Addressing): number | null {
  const [, host = '', port = String(CML_PORT)] = /^https:\/\/([\d.]+)(?::(\d+))?\/?$/.exec(endpoint) ?? []
  if (addressing === 'ports') return host === '127.0.0.1' ? Number(port) - PORT_BASE : null
  const bits = host.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)
  return Number(port) === CML_PORT && bits >= RANGE_BASE && bits < RANGE_BASE + RANGE_SIZE ? bits - RANGE_BASE : null
}

/** Start numbers equal endpoint numbers, except in `ports`, where endpoint numbers repeat. */
export const samePlace = (startNumber: number, endpointNumber: number, addressing: Addressing): boolean =>
  (addressing === 'ports' ? startNumber % PORT_COUNT : startNumber) === endpointNumber
