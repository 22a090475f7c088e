/** Ids of what is ticked. */
export type Selection = ReadonlySet<string>

export function toggled(selection: Selection, id: string): Selection {
  const next = new Set(selection)
  if (!next.delete(id)) next.add(id)
  return next
}

/** Ticks all between two rows, whichever is first. When one of them has left the list, only the other is ticked. */
export function withRange(selection: Selection, ids: readonly string[], from: string | null, to: string): Selection {
  const [a, b] = [from === null ? -1 : ids.indexOf(from), ids.indexOf(to)]
  if (a === -1 || b === -1) return new Set([...selection, to])
  return new Set([...selection, ...ids.slice(Math.min(a, b), Math.max(a, b) + 1)])
}

/** All that are shown or, once they are all ticked, none. */
export const allToggled = (selection: Selection, ids: readonly string[]): Selection =>
  ids.every(id => selection.has(id)) ? new Set() : new Set(ids)
