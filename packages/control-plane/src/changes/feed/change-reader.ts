import type { ChangeHint } from '@lcm/coordination/change-keys'
import type { Clock, Logger, WatchMessage, WatchSource } from '@lcm/runtime'
import type { PositionedChange } from '@lcm/store/store'
import { type FeedPosition, formatPosition, positionAfter } from './feed-position.ts'
import type { VersionFilter } from './version-filter.ts'

export interface ChangeKeyParts {
  /** All keys, including those of unpublished kinds. */
  readonly source: WatchSource<ChangeHint>
  /** Resource of a change key; null for an unpublished one. */
  readonly resourceOfKey: (key: string) => { readonly kind: string; readonly id: string } | null
  readonly clock: Clock
  readonly log: Logger
}

/** A change and its position in the history of the change keys. */
export interface FeedChange {
  readonly position: FeedPosition
  readonly change: PositionedChange
}

export interface ChangeReader {
  /** Everything up to here was read. */
  readonly at: FeedPosition
  /** The change in a message, if any. A deletion is read from the put before it, because that one has a version. */
  read(message: WatchMessage<ChangeHint>): FeedChange | null
}

export function changeReader(parts: ChangeKeyParts, from: FeedPosition, versions: VersionFilter): ChangeReader {
  let at = from
  return {
    get at() {
      return at
    },
    read(message) {
      at = positionAfter(at, message)
      if (message.type === 'delete') versions.release(message.key)
      if (message.type !== 'put') return null
      const { key, hint } = message
      const about = subjectOf(parts, key)
      if (about === null || !versions.accept(key, hint.version)) return null
      const change = { ...about, version: hint.version, deleted: hint.deleted === true, position: formatPosition(at) }
      return { position: at, change }
    },
  }
}

/** Skips an unreadable key: otherwise the stream would fail on it forever. */
function subjectOf({ resourceOfKey, log }: ChangeKeyParts, changeKey: string) {
  try {
    return resourceOfKey(changeKey)
  } catch (err) {
    log.error({ changeKey, err }, 'reading a change key failed')
    return null
  }
}
