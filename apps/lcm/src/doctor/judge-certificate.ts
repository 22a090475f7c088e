import type { Reason, ReasonCode } from '@lcm/domain/reason'
import { type Finding, failure, warning } from './finding.ts'

/** A finding for a problem with the TLS certificate of a service; null for other problems. */
export function judgeCertificate(check: string, reason: Reason): Finding | null {
  const { code, message, params } = reason
  switch (code as ReasonCode) {
    case 'tls_certificate_expires': {
      const judge = params.expired === true ? failure : warning
      return { ...judge(check, message, 'renew it: LCM loads the new files within seconds'), reason }
    }
    case 'tls_certificate_rejected':
      return { ...warning(check, message, 'correct the files: LCM reads them every few seconds'), reason }
    default:
      return null
  }
}
