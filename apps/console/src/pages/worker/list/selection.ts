/** Ids of the selected rows. */
export type Selection = ReadonlySet<string>

export function toggled(selection: Selection, id: string): Selection {
  const next = new Set(selection)
  if (!next.delete(id)) next.add(id)
  return next
}

/** Selects all rows between two, in either order. When one of them is no longer listed, only the other is selected. */
export function withRange(selection: Selection, ids: readonly string[], from: string | null, to: string): Selection {
  const [a, b] = [from === null ? -1 : ids.indexOf(from), ids.indexOf(to)]
  if (a === -1 || b === -1) return new Set([...selection, to])
  return new Set([...selection, ...ids.slice(Math.min(a, b), Math.max(a, b) + 1)])
}

/** Selects all rows, or none when all are selected. */
export const allToggled = (selection: Selection, ids: readonly string[]): Selection =>
  ids.every(id => selection.has(id)) ? new Set() : new Set(ids)
