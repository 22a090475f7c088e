import type { ToldChange } from './change-reader.ts'
import { isAfter, type Place } from './feed-position.ts'

/** The newest changes, in order and without a gap, at most so many. */
export interface ChangeRing {
  /** Every change after this place is inside. */
  readonly from: Place
  readonly isEmpty: boolean
  add(told: ToldChange): void
  /** Begins at an earlier place, with all changes from there to the old beginning, if there is room for them. */
  beginAt(place: Place, older: readonly ToldChange[]): void
  after(place: Place, limit: number): readonly ToldChange[]
}

export function changeRing(beginning: Place, changesMax: number): ChangeRing {
  let from = beginning
  let items: ToldChange[] = []
  /** Those before it have left; they are cleared away many at a time, since each time costs the length of the ring. */
  let first = 0
  return {
    get from() {
      return from
    },
    get isEmpty() {
      return items.length === first
    },
    add(told) {
      items.push(told)
      const oldest = items[first]
      if (items.length - first <= changesMax || oldest === undefined) return
      from = oldest.place
      first += 1
      if (first < changesMax) return
      items = items.slice(first)
      first = 0
    },
    beginAt(place, older) {
      if (older.length + items.length - first > changesMax) return
      items = [...older, ...items.slice(first)]
      first = 0
      from = place
    },
    after(place, limit) {
      const start = firstAfter(items, first, place)
      return items.slice(start, start + limit)
    },
  }
}

function firstAfter(items: readonly ToldChange[], first: number, place: Place): number {
  let [low, high] = [first, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items[middle]
    if (item !== undefined && isAfter(item.place, place)) high = middle
    else low = middle + 1
  }
  return low
}
