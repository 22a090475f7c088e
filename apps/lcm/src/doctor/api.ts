import type { AnswerOf } from '@lcm/contract/routes'
import { formatDuration } from '../cli/terminal/duration.ts'
import { type Finding, failure, failureIn, ok, warning } from './finding.ts'

/** How an API that was found answered. */
export interface ApiFacts {
  readonly url: string
  readonly hasToken: boolean
  readonly answer:
    | { readonly kind: 'known'; readonly info: AnswerOf<'info'> }
    /** It is an LCM that refuses us. */
    | { readonly kind: 'refused'; readonly status: number; readonly detail: string }
    /** Nobody, or somebody else. */
    | { readonly kind: 'unreachable'; readonly message: string }
  /** How much later it is there than here, and how sure that is. */
  readonly skew: Skew | null
  /** What it waits for before requests are sent to it; null when it is ready, or did not say. */
  readonly waitsFor: string | null
  /** What its health names as problems; empty when it is healthy, or did not say. */
  readonly problems: readonly string[]
}

export interface Skew {
  readonly ms: number
  readonly uncertaintyMs: number
}

export function judgeApi({ url, answer, waitsFor }: ApiFacts, version: string): Finding[] {
  if (answer.kind === 'unreachable')
    return [failureIn('api', answer.message, 'start it, or name another address with --url or LCM_URL')]
  const readiness =
    waitsFor === null
      ? []
      : [failure('api', `the API is not ready: it waits for ${waitsFor}`, 'see to that first; it goes on by itself')]
  if (answer.kind === 'refused') return [ok('api', `an LCM answers at ${url}`), ...readiness]
  const { info } = answer
  const cloud = info.cloud === 'sim' ? 'a simulated cloud' : `AWS in ${info.regions.join(', ')}`
  const said = `LCM ${info.version} answers at ${url}: ${info.profile}, on ${cloud}`
  const next = 'use the same version on both sides'
  const isSame = info.version === version
  return [isSame ? ok('api', said) : warning('api', `${said}, but this lcm is ${version}`, next), ...readiness]
}

export const OUTAGE_NEXT = 'check what it names and the network to it; LCM goes on by itself once it answers'

/** What the process at this address says of its own health. */
export const judgeHealth = (facts: Pick<ApiFacts, 'problems'> | null): Finding[] =>
  (facts?.problems ?? []).map(problem => failure('health', problem, OUTAGE_NEXT))

const TOKEN_NEXT =
  'give a valid one with --token or LCM_TOKEN; beside `lcm up` leave both out; an admin makes one with `lcm create token`'

/** Null where nobody was asked. */
export function judgeToken({ hasToken, answer }: ApiFacts): Finding | null {
  if (answer.kind === 'unreachable') return null
  if (answer.kind === 'known') {
    const { name, role } = answer.info.actor
    return ok('token', `you are ${name}, with the role ${role}`)
  }
  if (answer.status === 401) {
    const sentence = hasToken
      ? 'the API does not know this token: it is wrong, revoked or expired'
      : 'no token was given'
    return failure('token', sentence, TOKEN_NEXT)
  }
  return failure('token', `the API refuses to say who you are (${answer.status}): ${answer.detail}`, TOKEN_NEXT)
}

const WARNING_MS = 5_000
const FAILURE_MS = 60_000

/** Two clocks that should agree. Only a difference that is certain counts. */
export function judgeClock(whose: string, { ms, uncertaintyMs }: Skew, failureMs = FAILURE_MS): Finding {
  const certainMs = Math.max(0, Math.abs(ms) - uncertaintyMs)
  if (certainMs < WARNING_MS) return ok('clock', `the clock here and that of ${whose} agree`)
  const sentence = `the clock of ${whose} is ${formatDuration(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'} the one here`
  const next = 'let both machines take their time from NTP (`timedatectl status` shows it)'
  return certainMs < failureMs ? warning('clock', sentence, next) : failure('clock', sentence, next)
}
