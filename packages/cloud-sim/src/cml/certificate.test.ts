import { createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { selfSigned } from './certificate.ts'

const FROM = '2026-01-02T03:04:05.000Z'

describe('a self-signed certificate', () => {
  it('can be parsed and matches its key', () => {
    const identity = selfSigned('i-0123456789abcdef0', Date.parse(FROM))
    const certificate = new X509Certificate(identity.certificate_pem)
    expect(certificate.subject).toBe('CN=i-0123456789abcdef0')
    expect(certificate.issuer).toBe(certificate.subject)
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.checkPrivateKey(createPrivateKey(identity.key_pem))).toBe(true)
    expect(certificate.fingerprint256.replaceAll(':', '').toLowerCase()).toBe(identity.sha256)
    expect(new Date(certificate.validFrom).toISOString()).toBe(FROM)
    expect(new Date(certificate.validTo).getUTCFullYear()).toBe(2036)
  })

  it('differs each time', () => {
    expect(selfSigned('a', 0).sha256).not.toBe(selfSigned('a', 0).sha256)
  })

  it('accepts a name of any length that X.509 allows', () => {
    for (const length of [1, 20, 64]) {
      const { certificate_pem } = selfSigned('n'.repeat(length), 0)
      expect(new X509Certificate(certificate_pem).subject).toBe(`CN=${'n'.repeat(length)}`)
    }
  })
})
