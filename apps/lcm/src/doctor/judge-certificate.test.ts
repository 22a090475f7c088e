import { reason } from '@lcm/domain/reason'
import { expect, it } from 'vitest'
import { judgeHealth } from './judge-api.ts'
import { judgeCertificate } from './judge-certificate.ts'

const AT = '2026-01-02T03:04:05.678Z'
const expires = (expired: boolean) => reason('tls_certificate_expires', { file: '/tls.crt', expires_at: AT, expired })
const rejected = reason('tls_certificate_rejected', { error: 'no key', expires_at: AT })

it('warns of a certificate that expires soon or can not be loaded, and fails on an expired one', () => {
  expect(judgeCertificate('health', expires(false))).toMatchObject({
    severity: 'warning',
    advice: expect.stringContaining('renew'),
  })
  expect(judgeCertificate('health', expires(true))).toMatchObject({ severity: 'failure' })
  expect(judgeCertificate('health', rejected)).toMatchObject({ severity: 'warning', message: rejected.message })
  expect(judgeCertificate('health', reason('watch_degraded'))).toBeNull()
  expect(judgeHealth({ problems: [expires(false), reason('watch_degraded')] })).toMatchObject([
    { check: 'health', severity: 'warning' },
    { check: 'health', severity: 'failure' },
  ])
})
