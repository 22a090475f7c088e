import type { WatchMessage } from '@lcm/runtime'

/**
 * A place in the history of the change keys: after the `nth` put of a revision. Nearly always a revision has one put, but
 * etcd can make several at once, and nobody can tell from one of them whether another follows.
 */
export interface Place {
  readonly revision: number
  readonly nth: number
}

/** The same text on every replica. Places with no put and with one are told alike, since no revision has both. */
export const placeText = ({ revision, nth }: Place): string => (nth <= 1 ? `${revision}` : `${revision}.${nth}`)

/** Null when the text was never given out by anybody. */
export function placeIn(text: string): Place | null {
  const [, revision, nth = '1'] = /^(\d{1,15})(?:\.([1-9]\d{0,5}))?$/.exec(text) ?? []
  return revision === undefined ? null : { revision: Number(revision), nth: Number(nth) }
}

export const isAfter = (one: Place, other: Place): boolean =>
  one.revision > other.revision || (one.revision === other.revision && one.nth > other.nth)

/** Where a reader stands who was at `place` and has read the message too. Only puts count: deletions tell nothing. */
export function placeAfter(place: Place, { type, revision }: WatchMessage<unknown>): Place {
  if (revision < place.revision) return place
  const puts = revision === place.revision ? place.nth : 0
  return { revision, nth: type === 'put' ? puts + 1 : puts }
}
