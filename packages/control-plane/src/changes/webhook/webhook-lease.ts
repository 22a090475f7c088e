import { toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, Store } from '@lcm/store/store'
import { RESOURCES } from '../../resources.ts'
import type { WebhookState } from '../../stored-documents.ts'

const ID = 'webhook'
/** A replica that says nothing for this long has lost its turn. */
const TURN_MS = 30_000
/** How often whoever has the turn must say so. */
export const RENEW_MS = 10_000

/** Which replica tells the webhook, and how far it has come: one document, changed by compare-and-set. */
export interface WebhookLease {
  /** The position to go on after; null while another replica has the turn. */
  acquire(): Promise<string | null>
  /** Remembers the position. False when another replica has taken over. */
  save(position: string): Promise<boolean>
  /** The same, but only when it is time to say that this replica still lives. */
  renew(position: string): Promise<boolean>
  /** Lets another replica go on at once. */
  release(): Promise<void>
}

export interface LeaseParts {
  readonly store: Store
  readonly feed: ChangeFeed
  readonly clock: Clock
  /** Another one for each replica and each start. */
  readonly holder: string
}

export function webhookLease({ store, feed, clock, holder }: LeaseParts): WebhookLease {
  const states = store.collection(RESOURCES.webhooks)
  let mine: WebhookState | null = null
  let savedAt = 0
  let seen = { version: 0, at: 0 }

  async function write(version: number, position: string, isHeld = true): Promise<boolean> {
    const lease = isHeld ? { holder, until: toInstant(clock.now() + TURN_MS) } : null
    const next: WebhookState = { id: ID, version, position, lease }
    const at = clock.monotonic()
    const { ok } = await (version === 1 ? states.insert(next) : states.replace(next))
    mine = ok && isHeld ? next : null
    savedAt = at
    return ok
  }

  /** By its own words, or because it was silent for a whole turn of this replica's clock: the other's may be wrong. */
  function isFree({ version, lease }: WebhookState): boolean {
    if (version !== seen.version) seen = { version, at: clock.monotonic() }
    if (lease === null || lease.holder === holder) return true
    return toMs(lease.until) <= clock.now() || clock.monotonic() - seen.at >= TURN_MS
  }

  const save = async (position: string): Promise<boolean> => mine !== null && (await write(mine.version + 1, position))

  return {
    async acquire() {
      const current = await states.get(ID)
      if (current !== null && !isFree(current)) return null
      const position = current?.position ?? (await feed.position())
      return (await write((current?.version ?? 0) + 1, position)) ? position : null
    },
    save,
    renew: async position => (clock.monotonic() - savedAt < RENEW_MS ? mine !== null : save(position)),
    async release() {
      if (mine !== null) await write(mine.version + 1, mine.position, false)
    },
  }
}
