import { toInstant, toMs } from '@lcm/domain/instant'
import type { Clock } from '@lcm/runtime/clock'
import type { ChangeFeed, Store } from '@lcm/store/store'
import type { FeedReader } from '../../internal-documents.ts'
import { RESOURCES } from '../../resources.ts'

/** A replica that doesn't renew for this long has lost the lease. */
const LEASE_MS = 30_000
/** Renewal interval of the holder. */
export const RENEW_MS = 10_000

/** Lease of the one replica that reads the feed for a purpose, with its progress: one document, changed by compare-and-set. */
export interface FeedLease {
  /** Position to continue after; null while another replica holds the lease. */
  acquire(): Promise<string | null>
  /** Stores the position. False when another replica has taken over. */
  save(position: string): Promise<boolean>
  /** Stores the position only when a renewal is due. */
  renew(position: string): Promise<boolean>
  /** Lets another replica continue at once. */
  release(): Promise<void>
}

interface LeaseParts {
  /** What the feed is read for. */
  readonly id: FeedReader['id']
  readonly store: Store
  readonly feed: ChangeFeed
  readonly clock: Clock
  /** Unique per replica and start. */
  readonly holder: string
}

export function feedLease({ id, store, feed, clock, holder }: LeaseParts): FeedLease {
  const states = store.collection(RESOURCES.feedReaders)
  let mine: FeedReader | null = null
  let savedAt = 0
  let seen = { version: 0, at: 0 }

  async function write(version: number, position: string, isHeld = true): Promise<boolean> {
    const lease = isHeld ? { holder, until: toInstant(clock.now() + LEASE_MS) } : null
    const next: FeedReader = { id, version, position, lease }
    const at = clock.monotonic()
    const { ok } = await (version === 1 ? states.insert(next) : states.replace(next))
    mine = ok && isHeld ? next : null
    savedAt = at
    return ok
  }

  /** Free by its own time, or without a change for the lease time of this replica's clock: the other clock may be wrong. */
  function isFree({ version, lease }: FeedReader): boolean {
    if (version !== seen.version) seen = { version, at: clock.monotonic() }
    if (lease === null || lease.holder === holder) return true
    return toMs(lease.until) <= clock.now() || clock.monotonic() - seen.at >= LEASE_MS
  }

  const save = async (position: string): Promise<boolean> => mine !== null && (await write(mine.version + 1, position))

  return {
    async acquire() {
      const current = await states.get(id)
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
