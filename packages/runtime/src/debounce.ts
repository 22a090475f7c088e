/** How long news about `key` should wait. */
export type Debounce = (key: string, nowMs: number) => number

/**
 * Leading edge: a quiet key waits for nothing; news within `windowMs` of the key's last turn waits for the end of that
 * window, where it is folded into one more turn. Remembers only keys that were not quiet lately.
 */
export function leadingEdge(windowMs: number): Debounce {
  const turns = new Map<string, number>()
  return (key, nowMs) => {
    dropQuiet(turns, nowMs - windowMs)
    const turn = turns.get(key)
    const next = turn === undefined || nowMs >= turn + windowMs ? nowMs : nowMs < turn ? turn : turn + windowMs
    turns.delete(key)
    turns.set(key, next)
    return next - nowMs
  }
}

/** The map is in order of use, so that looking at its front is enough. */
function dropQuiet(turns: Map<string, number>, quietSinceMs: number): void {
  for (const [key, turn] of turns) {
    if (turn > quietSinceMs) return
    turns.delete(key)
  }
}
