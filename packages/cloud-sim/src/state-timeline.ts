/** A value from a timestamp on. */
export interface TimelineEntry {
  readonly from_ms: number
}

/** Past entries are kept for stale reads, with a limit. */
const ENTRIES_PAST_MAX = 8

/** The entry in effect at `atMs`; before the first one, the first. */
export function entryAt<M extends TimelineEntry>(timeline: readonly M[], atMs: number): M {
  const found = timeline.findLast(entry => entry.from_ms <= atMs) ?? timeline[0]
  if (!found) throw new RangeError('a timeline has at least one entry')
  return found
}

export function nextChangeMs(timeline: readonly TimelineEntry[], afterMs: number): number | null {
  return timeline.find(entry => entry.from_ms > afterMs)?.from_ms ?? null
}

/** Replaces all entries after `nowMs` by `future`. */
export function replan<M extends TimelineEntry>(
  timeline: readonly M[],
  nowMs: number,
  future: readonly M[],
): readonly M[] {
  const past = timeline.filter(entry => entry.from_ms <= nowMs).slice(-ENTRIES_PAST_MAX)
  return [...past, ...future]
}
