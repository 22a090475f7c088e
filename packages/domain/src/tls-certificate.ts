import { toInstant } from './instant.ts'
import { type Reason, reason } from './reason.ts'

const DAY_MS = 86_400_000
const WARNING_MS = 14 * DAY_MS
/** A certificate that lives for a day is renewed every few hours, and should not always be a problem. */
const WARNING_SHARE = 1 / 3

export interface CertificateDates {
  /** The file that holds the certificate. */
  readonly file: string
  readonly validFromMs: number
  readonly validToMs: number
}

/** A problem from 14 days before the certificate expires; for short-lived ones, in the last third of their life. */
export function certificateProblem(dates: CertificateDates, nowMs: number): Reason | null {
  const { file, validFromMs, validToMs } = dates
  const warningMs = Math.min(WARNING_MS, (validToMs - validFromMs) * WARNING_SHARE)
  if (nowMs < validToMs - warningMs) return null
  const expires_at = toInstant(validToMs)
  return reason('tls_certificate_expires', { file, expires_at, expired: nowMs >= validToMs })
}
