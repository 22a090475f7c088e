import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { toInstant } from '@lcm/domain/instant'
import type { CertificateDates } from '@lcm/domain/tls-certificate'
import type { CertificatePair } from '@lcm/runtime/http-server'

export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** The files can't be used to serve. `message` says why, `advice` what to do. */
export class UnusableCertificateError extends Error {
  override readonly name = 'UnusableCertificateError'
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.advice = advice
  }
}

export const readPair = ({ certFile, keyFile }: CertificateFiles): CertificatePair => ({
  cert: textOf('LCM_TLS_CERT_FILE', certFile),
  key: textOf('LCM_TLS_KEY_FILE', keyFile),
})

function textOf(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : cause
    throw new UnusableCertificateError(
      `${name}=${path} can't be read (${code})`,
      'correct the path or its permissions',
      {
        cause,
      },
    )
  }
}

/** Checks that the pair can serve now. Throws an UnusableCertificateError if it can't. */
export function checkPair(pair: CertificatePair, files: CertificateFiles, nowMs: number): CertificateDates {
  const certificate = parsedCertificate(pair, files)
  if (!certificate.checkPrivateKey(parsedKey(pair, files)))
    throw new UnusableCertificateError(
      `the key in LCM_TLS_KEY_FILE=${files.keyFile} does not belong to the certificate in ${files.certFile}`,
      'set both to files of the same certificate',
    )
  const dates = {
    file: files.certFile,
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  }
  refuseOutsideDates(dates, nowMs)
  refuseWeak(pair, files)
  return dates
}

function parsedCertificate({ cert }: CertificatePair, { certFile }: CertificateFiles): X509Certificate {
  try {
    return new X509Certificate(cert)
  } catch (cause) {
    const message = `LCM_TLS_CERT_FILE=${certFile} has no certificate in PEM format`
    throw new UnusableCertificateError(message, 'put the certificate first, then those of its chain', { cause })
  }
}

function parsedKey({ key }: CertificatePair, { keyFile }: CertificateFiles): KeyObject {
  try {
    return createPrivateKey(key)
  } catch (cause) {
    const message = `LCM_TLS_KEY_FILE=${keyFile} has no private key in PEM format without a passphrase`
    throw new UnusableCertificateError(message, 'remove a passphrase with `openssl pkey -in OLD -out NEW`', { cause })
  }
}

function refuseOutsideDates({ file, validFromMs, validToMs }: CertificateDates, nowMs: number): void {
  const named = `the certificate in LCM_TLS_CERT_FILE=${file}`
  if (nowMs >= validToMs) throw new UnusableCertificateError(`${named} expired at ${toInstant(validToMs)}`, 'renew it')
  if (nowMs < validFromMs)
    throw new UnusableCertificateError(
      `${named} is not valid before ${toInstant(validFromMs)}`,
      'check the clock of this machine',
    )
}

/** OpenSSL also checks the chain, and refuses keys that are too short. */
function refuseWeak(pair: CertificatePair, { certFile }: CertificateFiles): void {
  try {
    createSecureContext(pair)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new UnusableCertificateError(`OpenSSL refuses LCM_TLS_CERT_FILE=${certFile}: ${why}`, 'create another', {
      cause,
    })
  }
}
