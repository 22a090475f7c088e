/** Each item stores its own position in the heap, so that removing from the middle needs no search. */
export interface Slotted {
  /** Written by the heap. `NOT_IN_HEAP` while the item is outside. */
  slot: number
}

export const NOT_IN_HEAP = -1

export interface IndexedHeap<T extends Slotted> {
  readonly size: number
  /** The first item, which stays in the heap. */
  peek(): T | undefined
  push(item: T): void
  /** Ignores an item that is not inside. */
  remove(item: T): void
  clear(): void
}

type Before<T> = (a: T, b: T) => boolean

export function indexedHeap<T extends Slotted>(before: Before<T>): IndexedHeap<T> {
  const items: T[] = []
  return {
    get size() {
      return items.length
    },
    peek: () => items[0],
    push(item) {
      items.push(item)
      riseTo(items, item, items.length - 1, before)
    },
    remove(item) {
      if (item.slot !== NOT_IN_HEAP) removeAt(items, item, before)
    },
    clear() {
      for (const item of items) item.slot = NOT_IN_HEAP
      items.length = 0
    },
  }
}

function removeAt<T extends Slotted>(items: T[], item: T, before: Before<T>): void {
  const hole = item.slot
  const last = items.pop()
  item.slot = NOT_IN_HEAP
  if (last === undefined || last === item) return
  sinkTo(items, last, hole, before)
  riseTo(items, last, last.slot, before)
}

function riseTo<T extends Slotted>(items: T[], item: T, from: number, before: Before<T>): void {
  let slot = from
  while (slot > 0) {
    const parentSlot = (slot - 1) >> 1
    const parent = items[parentSlot]
    if (parent === undefined || !before(item, parent)) break
    put(items, parent, slot)
    slot = parentSlot
  }
  put(items, item, slot)
}

function sinkTo<T extends Slotted>(items: T[], item: T, from: number, before: Before<T>): void {
  let slot = from
  for (;;) {
    const child = firstChild(items, slot, before)
    if (child === undefined || !before(child, item)) break
    const childSlot = child.slot
    put(items, child, slot)
    slot = childSlot
  }
  put(items, item, slot)
}

function firstChild<T extends Slotted>(items: T[], slot: number, before: Before<T>): T | undefined {
  const left = items[2 * slot + 1]
  const right = items[2 * slot + 2]
  return left !== undefined && right !== undefined && before(right, left) ? right : left
}

function put<T extends Slotted>(items: T[], item: T, slot: number): void {
  items[slot] = item
  item.slot = slot
}
