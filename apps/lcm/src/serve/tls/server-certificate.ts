import { toInstant } from '@lcm/domain/instant'
import { type Reason, reason } from '@lcm/domain/reason'
import { type CertificateDates, certificateProblem } from '@lcm/domain/tls-certificate'
import type { Logger, Meter } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { CertificatePair } from '@lcm/runtime/http-server'
import type { TlsEnvironment } from '../environment/environment.ts'
import { StartupError } from '../startup-error.ts'
import { type CertificateFiles, checkPair, readPair, UnusableCertificateError } from './read-certificate.ts'

/** How often the files are read. Change events of the file system miss the symbolic links of Kubernetes. */
const POLL_MS = 5_000

/** The certificate of a server; it follows its files. */
export interface ServerCertificate {
  /** Null serves plain HTTP. */
  readonly pair: CertificatePair | null
  /** Calls `use` with each new pair. */
  follow(use: (pair: CertificatePair) => void): void
  problems(): readonly Reason[]
  close(): void
}

interface Parts {
  readonly clock: Clock
  readonly logger: Logger
  readonly meter: Meter
}

const NO_CERTIFICATE: ServerCertificate = {
  pair: null,
  follow: () => undefined,
  problems: () => [],
  close: () => undefined,
}

/** Opens the certificate in the environment. Throws a StartupError if its files can't be used. */
export function openServerCertificate(env: TlsEnvironment, parts: Parts): ServerCertificate {
  const expires = expiryGauge(parts.meter)
  const { LCM_TLS_CERT_FILE: certFile, LCM_TLS_KEY_FILE: keyFile } = env
  if (certFile === undefined || keyFile === undefined) return NO_CERTIFICATE
  const files = { certFile, keyFile }
  try {
    const pair = readPair(files)
    return followedCertificate({ ...parts, files, expires, pair, dates: checkPair(pair, files, parts.clock.now()) })
  } catch (cause) {
    if (!(cause instanceof UnusableCertificateError)) throw cause
    throw new StartupError(cause.message, { cause, advice: cause.advice, exitCode: 2 })
  }
}

type ExpiryGauge = ReturnType<typeof expiryGauge>

const expiryGauge = (meter: Meter) =>
  meter.gauge('lcm_tls_certificate_expires_timestamp_seconds', 'When the TLS certificate of this process expires', [
    'file',
  ])

interface Opened extends Parts {
  readonly files: CertificateFiles
  readonly expires: ExpiryGauge
  readonly pair: CertificatePair
  readonly dates: CertificateDates
}

/** Replaces the certificate when its files change. Files that can't be used are reported, and the old pair stays. */
function followedCertificate({ clock, logger, files, expires, pair, dates: first }: Opened): ServerCertificate {
  const users: ((pair: CertificatePair) => void)[] = []
  let dates = first
  let current = pair
  let rejected: string | null = null
  const accept = (next: CertificatePair) => {
    dates = checkPair(next, files, clock.now())
    current = next
    for (const use of users) use(next)
    expires.set(dates.validToMs / 1000, { file: dates.file })
    logger.info({ file: dates.file, expires_at: toInstant(dates.validToMs) }, 'serving with a new TLS certificate')
  }
  const check = () => {
    try {
      const next = readPair(files)
      if (next.cert !== current.cert || next.key !== current.key) accept(next)
      rejected = null
    } catch (error) {
      if (!(error instanceof UnusableCertificateError)) throw error
      if (error.message !== rejected)
        logger.error({ advice: error.advice }, `keeping the TLS certificate: ${error.message}`)
      rejected = error.message
    }
  }
  expires.set(dates.validToMs / 1000, { file: dates.file })
  let cancel = clock.after(POLL_MS, function poll() {
    check()
    cancel = clock.after(POLL_MS, poll)
  })
  return {
    pair,
    follow(use) {
      users.push(use)
      if (current !== pair) use(current)
    },
    problems() {
      const expiring = certificateProblem(dates, clock.now())
      const params = { error: rejected ?? '', expires_at: toInstant(dates.validToMs) }
      return [
        ...(rejected === null ? [] : [reason('tls_certificate_rejected', params)]),
        ...(expiring ? [expiring] : []),
      ]
    },
    close: () => cancel(),
  }
}
