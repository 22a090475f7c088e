import type { WatchMessage } from '@lcm/runtime'

/**
 * A position in the history of the change keys: after the `nth` put of a revision. A revision has usually one put, but etcd
 * can apply several at once, and no put shows whether another follows.
 */
export interface FeedPosition {
  readonly revision: number
  readonly nth: number
}

/** The same text on every replica. Positions before and after a single put have the same text, because no revision has both. */
export const formatPosition = ({ revision, nth }: FeedPosition): string =>
  nth <= 1 ? `${revision}` : `${revision}.${nth}`

/** Null for a text that no replica has issued. */
export function parsePosition(text: string): FeedPosition | null {
  const [, revision, nth = '1'] = /^(\d{1,15})(?:\.([1-9]\d{0,5}))?$/.exec(text) ?? []
  return revision === undefined ? null : { revision: Number(revision), nth: Number(nth) }
}

export const isAfter = (one: FeedPosition, other: FeedPosition): boolean =>
  one.revision > other.revision || (one.revision === other.revision && one.nth > other.nth)

/** Position after a message. Only puts count: deletions carry no change. */
export function positionAfter(position: FeedPosition, { type, revision }: WatchMessage<unknown>): FeedPosition {
  if (revision < position.revision) return position
  const puts = revision === position.revision ? position.nth : 0
  return { revision, nth: type === 'put' ? puts + 1 : puts }
}
