import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promMeter } from '@lcm/controllers/kit/metrics'
import { makeCertificates } from '@lcm/coordination/testing/certificates'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import type { CertificatePair } from '@lcm/runtime/http-server'
import { manualClock } from '@lcm/testkit/manual-clock'
import { afterAll, describe, expect, it } from 'vitest'
import { upEnvironment } from '../environment/environment.ts'
import { urlWithTls } from '../listen.ts'
import { StartupError } from '../startup-error.ts'
import { openServerCertificate } from './server-certificate.ts'

const HOUR_MS = 3_600_000
const certificates = makeCertificates()
certificates.signServer('renewed')
const scratch = mkdtempSync(join(tmpdir(), 'lcm-tls-'))
afterAll(() => {
  certificates.remove()
  rmSync(scratch, { recursive: true, force: true })
})

/** The certificates are valid from now on. */
const NOW = systemClock.now()

function opened(certFile: string, keyFile: string, nowMs = NOW) {
  const clock = manualClock(nowMs)
  const logged: string[] = []
  const log = (_: object, message: string) => void logged.push(message)
  const meter = promMeter()
  const logger = { ...silentLogger, info: log, error: log }
  const env = { LCM_TLS_CERT_FILE: certFile, LCM_TLS_KEY_FILE: keyFile }
  const certificate = openServerCertificate(env, { clock, logger, meter })
  const used: string[] = []
  certificate.follow(({ cert }: CertificatePair) => void used.push(cert))
  return { clock, logged, meter, certificate, used }
}

/** As Kubernetes mounts a secret: the files are links into a folder, which is replaced as a whole. */
function mountedSecret() {
  const folder = mkdtempSync(join(scratch, 'mount-'))
  let versions = 0
  const put = (cert: string, key: string) => {
    versions += 1
    const version = mkdtempSync(join(folder, `v${versions}-`))
    writeFileSync(join(version, 'tls.crt'), cert)
    writeFileSync(join(version, 'tls.key'), key)
    symlinkSync(version, join(folder, '..data.new'))
    renameSync(join(folder, '..data.new'), join(folder, '..data'))
  }
  put(certificates.text('server.crt'), certificates.text('server.key'))
  for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
  return { put, cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') }
}

function refusalOf(start: () => unknown): string {
  try {
    start()
  } catch (error) {
    if (error instanceof StartupError) return `${error.message}: ${error.advice}`
  }
  return ''
}

describe('the start', () => {
  const file = (name: string, text: string) => {
    writeFileSync(join(scratch, name), text)
    return join(scratch, name)
  }
  const [cert, key] = [certificates.path('server.crt'), certificates.path('server.key')]

  it.each([
    ['a missing file', ['/nowhere.crt', key], /^LCM_TLS_CERT_FILE=\/nowhere\.crt can't be read \(ENOENT\): correct/],
    ['a missing key', [cert, '/nowhere.key'], /^LCM_TLS_KEY_FILE=\/nowhere\.key can't be read \(ENOENT\): correct/],
    ['something else', [file('text', 'text'), key], /^LCM_TLS_CERT_FILE=\S+ has no certificate in PEM format: put/],
    ['no key', [cert, file('no-key', 'x')], /^LCM_TLS_KEY_FILE=\S+ has no private key .* without a passphrase: rem/],
    ['files that were swapped', [key, cert], /^LCM_TLS_CERT_FILE=\S+ has no certificate in PEM format/],
    ['a wrong pair', [cert, certificates.path('renewed.key')], /^the key in \S+ does not belong to .*server\.crt: set/],
    ['an expired one', [cert, key, 49], /^the certificate in LCM_TLS_CERT_FILE=\S+ expired at 20\S+Z: renew it$/],
    [
      'one of tomorrow',
      [cert, key, -24],
      /^the certificate in LCM_TLS_CERT_FILE=\S+ is not valid before 20\S+Z: check/,
    ],
  ] satisfies [string, [string, string, number?], RegExp][])(
    'is refused with %s',
    (_, [certFile, keyFile, hours = 0], sentence) => {
      const start = () => opened(certFile, keyFile, NOW + hours * HOUR_MS)
      expect(start).toThrow(StartupError)
      expect(start).toThrow(expect.objectContaining({ exitCode: 2 }))
      expect(refusalOf(start)).toMatch(sentence)
    },
  )

  it('is refused with only one of the two files', () => {
    for (const name of ['LCM_TLS_CERT_FILE', 'LCM_TLS_KEY_FILE'])
      expect(() => upEnvironment({ [name]: cert })).toThrow('LCM_TLS_CERT_FILE and LCM_TLS_KEY_FILE need each other')
  })

  it('serves plain HTTP without files', async () => {
    const meter = promMeter()
    const { clock, certificate } = opened(cert, key)
    const plain = openServerCertificate({}, { clock, logger: silentLogger, meter })
    expect(plain.pair).toBeNull()
    expect(plain.problems()).toEqual([])
    expect(await meter.text()).not.toMatch(/^lcm_tls_certificate_expires_timestamp_seconds/m)
    expect(urlWithTls(plain, { host: 'localhost', port: 8080 })).toBeNull()
    expect(urlWithTls(certificate, { host: 'localhost', port: 8080 })).toBe('https://localhost:8080')
    expect(urlWithTls(certificate, { host: '0.0.0.0', port: 443 })).toBe('https://localhost')
    expect(urlWithTls(certificate, { host: '::1', port: 8080 })).toBe('https://[::1]:8080')
  })
})

describe('a certificate whose files change', () => {
  it('is replaced within seconds, once', async () => {
    const secret = mountedSecret()
    const { clock, certificate, used, logged } = opened(secret.cert, secret.key)
    await clock.advance(20_000)
    expect(used).toEqual([])
    secret.put(certificates.text('renewed.crt'), certificates.text('renewed.key'))
    await clock.advance(20_000)
    expect(used).toEqual([certificates.text('renewed.crt')])
    expect(logged).toEqual(['serving with a new TLS certificate'])
    expect(certificate.problems()).toEqual([])
    let late = ''
    certificate.follow(({ cert }) => {
      late = cert
    })
    expect(late).toBe(certificates.text('renewed.crt'))
    certificate.close()
    secret.put(certificates.text('server.crt'), certificates.text('server.key'))
    await clock.advance(20_000)
    expect(used).toHaveLength(1)
  })

  it.each([
    ['wrong pair', certificates.text('renewed.crt'), certificates.text('server.key'), /does not belong/],
    [
      'half-written file',
      certificates.text('renewed.crt').slice(0, 99),
      certificates.text('renewed.key'),
      /PEM format/,
    ],
  ])('stays with a %s, which is a problem until it is corrected', async (_, cert, key, message) => {
    const secret = mountedSecret()
    const { clock, certificate, used, logged } = opened(secret.cert, secret.key)
    secret.put(cert, key)
    await clock.advance(60_000)
    expect(used).toEqual([])
    expect(logged).toEqual([expect.stringMatching(message)])
    expect(certificate.problems()).toMatchObject([
      { code: 'tls_certificate_rejected', message: expect.stringMatching(message) },
    ])
    secret.put(certificates.text('renewed.crt'), certificates.text('renewed.key'))
    await clock.advance(5_000)
    expect(used).toEqual([certificates.text('renewed.crt')])
    expect(certificate.problems()).toEqual([])
  })

  it('stays when the files are gone', async () => {
    const secret = mountedSecret()
    const { clock, certificate } = opened(secret.cert, secret.key)
    rmSync(secret.key)
    await clock.advance(5_000)
    expect(certificate.problems()).toMatchObject([{ code: 'tls_certificate_rejected' }])
  })
})

it('shows when it expires: as a metric, and as a problem in the last third of its two days', async () => {
  const { clock, certificate, meter } = opened(certificates.path('server.crt'), certificates.path('server.key'))
  const [, seconds] =
    /^lcm_tls_certificate_expires_timestamp_seconds\{file="\S+"\} (\d+)$/m.exec(await meter.text()) ?? []
  expect(Number(seconds) * 1000).toBeGreaterThan(NOW + 47 * HOUR_MS)
  expect(certificate.problems()).toEqual([])
  await clock.advance(33 * HOUR_MS)
  expect(certificate.problems()).toMatchObject([{ code: 'tls_certificate_expires', params: { expired: false } }])
  await clock.advance(16 * HOUR_MS)
  expect(certificate.problems()).toMatchObject([{ code: 'tls_certificate_expires', params: { expired: true } }])
})
