export interface Debounce {
  /** Delay of an update of `key`. */
  delayMs(key: string, nowMs: number): number
  /** Number of remembered keys. */
  readonly size: number
}

/**
 * Leading edge: a quiet key waits for nothing; news within `windowMs` of the key's last turn waits for the end of that
 * window, where it is folded into one more turn. Remembers only keys that were not quiet lately.
 */
export function leadingEdge(windowMs: number): Debounce {
  const turns = new Map<string, number>()
  return {
    delayMs(key, nowMs) {
      dropQuiet(turns, nowMs - windowMs)
      const next = nextTurn(turns.get(key), nowMs, windowMs)
      turns.delete(key)
      turns.set(key, next)
      return next - nowMs
    },
    get size() {
      return turns.size
    },
  }
}

function nextTurn(turn: number | undefined, nowMs: number, windowMs: number): number {
  if (turn === undefined || nowMs >= turn + windowMs) return nowMs
  return nowMs < turn ? turn : turn + windowMs
}

/** The map is in order of use, so that looking at its front is enough. */
function dropQuiet(turns: Map<string, number>, quietSinceMs: number): void {
  for (const [key, turn] of turns) {
    if (turn > quietSinceMs) return
    turns.delete(key)
  }
}
