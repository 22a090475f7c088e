import type { FeedChange } from './change-reader.ts'
import { type FeedPosition, isAfter } from './feed-position.ts'

/** The newest changes, in order and without a gap, up to a maximum. */
export interface ChangeRing {
  /** Every change after this position is in the ring. */
  readonly from: FeedPosition
  readonly isEmpty: boolean
  add(item: FeedChange): void
  /** Extends the ring back to an earlier position, if it has space for all changes in between. */
  beginAt(position: FeedPosition, older: readonly FeedChange[]): void
  after(position: FeedPosition, limit: number): readonly FeedChange[]
}

export function changeRing(beginning: FeedPosition, changesMax: number): ChangeRing {
  let from = beginning
  let items: FeedChange[] = []
  /** Items before it are removed in batches, because each removal copies the ring. */
  let first = 0
  return {
    get from() {
      return from
    },
    get isEmpty() {
      return items.length === first
    },
    add(item) {
      items.push(item)
      const oldest = items[first]
      if (items.length - first <= changesMax || oldest === undefined) return
      from = oldest.position
      first += 1
      if (first < changesMax) return
      items = items.slice(first)
      first = 0
    },
    beginAt(position, older) {
      if (older.length + items.length - first > changesMax) return
      items = [...older, ...items.slice(first)]
      first = 0
      from = position
    },
    after(position, limit) {
      const start = firstAfter(items, first, position)
      return items.slice(start, start + limit)
    },
  }
}

function firstAfter(items: readonly FeedChange[], first: number, position: FeedPosition): number {
  let [low, high] = [first, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items[middle]
    if (item !== undefined && isAfter(item.position, position)) high = middle
    else low = middle + 1
  }
  return low
}
