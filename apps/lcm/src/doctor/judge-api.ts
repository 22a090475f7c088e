import type { AnswerOf } from '@lcm/contract/routes'
import type { Reason } from '@lcm/domain/reason'
import { formatDuration } from '../cli/terminal/duration.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { judgeCertificate } from './judge-certificate.ts'

/** Result of probing the API. */
export interface ApiFacts {
  readonly url: string
  readonly hasToken: boolean
  readonly answer:
    | { readonly kind: 'known'; readonly info: AnswerOf<'info'> }
    /** An LCM API that denies access. */
    | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
    /** No server, or another kind of server. */
    | { readonly kind: 'unreachable'; readonly message: string; readonly advice: string }
  /** Difference between the clock of the API and the local clock. */
  readonly skew: Skew | null
  /** The dependency that a not-ready API waits for; null if it is ready or unknown. */
  readonly waitsFor: string | null
  /** Problems reported by /health; empty if it is healthy or unknown. */
  readonly problems: readonly Reason[]
}

export interface Skew {
  readonly ms: number
  readonly uncertaintyMs: number
}

export function judgeApi({ url, answer, waitsFor }: ApiFacts, version: string): Finding[] {
  if (answer.kind === 'unreachable') return [failure('api', answer.message, answer.advice)]
  const readiness =
    waitsFor === null
      ? []
      : [
          failure(
            'api',
            `the API is not ready: it is waiting for ${waitsFor}`,
            'fix that first; the API then becomes ready automatically',
          ),
        ]
  if (answer.kind === 'refused') return [ok('api', `LCM responds at ${url}`), ...readiness]
  const { info } = answer
  const cloud = info.cloud === 'sim' ? 'a simulated cloud' : `AWS in ${info.regions.join(', ')}`
  const message = `LCM ${info.version} responds at ${url}: ${info.profile}, on ${cloud}`
  const next = 'install the same version of lcm on both sides'
  const isSame = info.version === version
  return [isSame ? ok('api', message) : warning('api', `${message}, but this lcm is ${version}`, next), ...readiness]
}

export const OUTAGE_NEXT =
  'check that server and the network connection to it; LCM continues automatically when it responds'

/** Problems that the API reports about itself. */
export const judgeHealth = (facts: Pick<ApiFacts, 'problems'> | null): Finding[] =>
  (facts?.problems ?? []).map(
    reason => judgeCertificate('health', reason) ?? { ...failure('health', reason.message, OUTAGE_NEXT), reason },
  )

const TOKEN_NEXT =
  'set a valid token with --token or LCM_TOKEN, or omit both next to `lcm up`; an admin can create one with `lcm create token`'

/** Null if the API is unreachable. */
export function judgeToken({ hasToken, answer }: ApiFacts): Finding | null {
  if (answer.kind === 'unreachable') return null
  if (answer.kind === 'known') {
    const { name, role } = answer.info.actor
    return ok('token', `authenticated as ${name} with role ${role}`)
  }
  if (answer.status === 401) {
    const message = hasToken ? 'the token is invalid: it is wrong, revoked or expired' : 'no token is set'
    return failure('token', message, TOKEN_NEXT)
  }
  return failure('token', `the API rejects the token (${answer.status}): ${answer.detail}`, TOKEN_NEXT)
}

const WARNING_MS = 5_000
const FAILURE_MS = 60_000

/** Compares two clocks. The measurement uncertainty is subtracted from the difference. */
export function judgeClock(whose: string, { ms, uncertaintyMs }: Skew, failureMs = FAILURE_MS): Finding {
  const certainMs = Math.max(0, Math.abs(ms) - uncertaintyMs)
  if (certainMs < WARNING_MS) return ok('clock', `the local clock and the clock of ${whose} agree`)
  const message = `the clock of ${whose} is ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'} the local clock`
  const next = 'synchronize both computers with NTP (check with `timedatectl status`)'
  return certainMs < failureMs ? warning('clock', message, next) : failure('clock', message, next)
}
