import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Actor } from '@lcm/domain/actor'
import { toInstant } from '@lcm/domain/instant'
import type { Logger } from '@lcm/runtime'
import type { Clock } from '@lcm/runtime/clock'
import type { Journal, NewEntry } from '@lcm/store/store'
import { randomText } from '../crypto.ts'
import { auditEntry } from '../resources/journal/entries.ts'
import { addressKey } from './client-address.ts'
import { originOf, type RequestOrigin } from './request-origin.ts'

export const REFUSALS = ['wrong_token', 'wrong_login_code', 'too_many_attempts', 'foreign_origin', 'provider'] as const
/** `provider`: a sign-in or a logout notice of the identity provider that can't be accepted. */
export type Refusal = (typeof REFUSALS)[number]

interface About {
  /** Null when no browser or command asked for it. */
  readonly origin: RequestOrigin | null
  readonly facts?: object
  readonly reason?: string
}

export interface AccessAudit {
  /** Entry about a sign-in or its end, to commit with its document. */
  entry(actor: Actor, action: string, about: About): NewEntry
  /** Counts a refusal. The first of an address is recorded at once, the others as one sum at the next `flush`. */
  refused(request: ApiRequest, refusal: Refusal): void
  /** Records the sums since the last flush. */
  flush(): Promise<void>
  /** Counters in Prometheus text format. */
  metrics(): string
}

const UNKNOWN_CALLER = { id: 'unknown', name: 'unknown', role: 'none' }
/** Addresses with an entry of their own between two flushes. A flood from more of them shares one entry. */
const SUBJECTS_MAX = 100
const OTHERS = 'others'
const ENTRY_ID_BYTES = 6

interface Refused {
  readonly subject: string
  readonly refusal: Refusal
  readonly userAgent: string
  /** Refusals without an entry yet. */
  count: number
}

export function accessAudit(parts: {
  clock: Clock
  journal: Journal
  log: Logger
  randomBytes: (size: number) => Uint8Array
}): AccessAudit {
  const { clock, journal, log } = parts
  const totals = new Map<Refusal, number>(REFUSALS.map(refusal => [refusal, 0]))
  let unrecorded = new Map<string, Refused>()

  /** A store that doesn't respond must not turn a refusal into another error. */
  async function record({ subject, refusal, userAgent }: Refused, attempts: number): Promise<void> {
    const at = toInstant(clock.now())
    log.warn({ address: subject, user_agent: userAgent, refusal, attempts }, 'access refused')
    const action = refusal === 'too_many_attempts' ? 'lock-out' : 'refuse'
    const after = { refusal, attempts, user_agent: userAgent }
    const entry = auditEntry(UNKNOWN_CALLER, action, at, { after })
    const id = `address:${subject}:${randomText(parts.randomBytes, ENTRY_ID_BYTES)}`
    await journal
      .append([{ ...entry, id, subject: `address:${subject}` }])
      .catch(err => log.warn({ err }, 'the audit entry of a refusal was not stored'))
  }

  return {
    entry(actor, action, { origin, facts, reason }) {
      const after = { ...facts, ...origin }
      return auditEntry(actor, action, toInstant(clock.now()), { after, reason })
    },
    refused(request, refusal) {
      totals.set(refusal, (totals.get(refusal) ?? 0) + 1)
      const { user_agent, ...origin } = originOf(request)
      const address = addressKey(origin.address)
      const isOne = unrecorded.has(`${refusal} ${address}`) || unrecorded.size < SUBJECTS_MAX
      const subject = isOne ? address : OTHERS
      const known = unrecorded.get(`${refusal} ${subject}`)
      if (known !== undefined) {
        known.count += 1
        return
      }
      const first = { subject, refusal, userAgent: user_agent, count: 0 }
      unrecorded.set(`${refusal} ${subject}`, first)
      void record(first, 1)
    },
    async flush() {
      const finished = [...unrecorded.values()]
      unrecorded = new Map()
      for (const refused of finished) if (refused.count > 0) await record(refused, refused.count)
    },
    metrics: () =>
      [
        '# HELP lcm_access_refused_total refused requests of this replica, by reason',
        '# TYPE lcm_access_refused_total counter',
        ...[...totals].map(([refusal, total]) => `lcm_access_refused_total{reason="${refusal}"} ${total}`),
        '',
      ].join('\n'),
  }
}
