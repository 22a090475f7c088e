import type { WatchMessage } from '@lcm/runtime'

/**
 * A position in the history of the change keys: after the `nth` put of a revision. Nearly always a revision has one put, but
 * etcd can make several at once, and nobody can tell from one of them whether another follows.
 */
export interface FeedPosition {
  readonly revision: number
  readonly nth: number
}

/** The same text on every replica. Places with no put and with one are told alike, since no revision has both. */
export const formatPosition = ({ revision, nth }: FeedPosition): string =>
  nth <= 1 ? `${revision}` : `${revision}.${nth}`

/** Null when the text was never given out by anybody. */
export function parsePosition(text: string): FeedPosition | null {
  const [, revision, nth = '1'] = /^(\d{1,15})(?:\.([1-9]\d{0,5}))?$/.exec(text) ?? []
  return revision === undefined ? null : { revision: Number(revision), nth: Number(nth) }
}

export const isAfter = (one: FeedPosition, other: FeedPosition): boolean =>
  one.revision > other.revision || (one.revision === other.revision && one.nth > other.nth)

/** Where a reader stands who was at `position` and has read the message too. Only puts count: deletions tell nothing. */
export function positionAfter(position: FeedPosition, { type, revision }: WatchMessage<unknown>): FeedPosition {
  if (revision < position.revision) return position
  const puts = revision === position.revision ? position.nth : 0
  return { revision, nth: type === 'put' ? puts + 1 : puts }
}
