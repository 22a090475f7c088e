/** Gives each shown row a place in a fixed set of them. A row keeps its place while it is shown; a new one takes a free place. */
export interface RowSlots {
  /** The places of these rows, in their order. */
  of(ids: readonly string[]): readonly number[]
}

/**
 * So that scrolling fills rows that exist rather than make new ones: thousands of thrown-away rows would be most of the tab's
 * memory. And what has the focus stays with its worker for as long as that is shown.
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
