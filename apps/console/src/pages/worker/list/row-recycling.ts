/** Assigns visible rows to a fixed set of slots. A row keeps its slot while visible; a new row takes a free one. */
export interface RowSlots {
  /** Slots of these rows, in their order. */
  of(ids: readonly string[]): readonly number[]
}

/**
 * Scrolling reuses existing row elements: creating thousands would fill the tab's memory. The focus stays with its worker while
 * that is visible.
 */
export function rowSlots(): RowSlots {
  let slotById: ReadonlyMap<string, number> = new Map()
  return {
    of(ids) {
      const kept = ids.map(id => slotById.get(id))
      const taken = new Set(kept)
      let next = 0
      const free = () => {
        while (taken.has(next)) next += 1
        taken.add(next)
        return next
      }
      const slots = kept.map(slot => slot ?? free())
      slotById = new Map(ids.map((id, index) => [id, slots[index] ?? 0]))
      return slots
    },
  }
}
