/** What a leader knows of its own doings. A new one, or one that has forgotten, only asks once more. */
export interface SessionMemory {
  /** Nothing of an earlier term is held to be ours. */
  beginTerm(epoch: number): void
  announced(sessionId: string, run: string): void
  /** What this run of a step has asked of CML; null when it was not announced by us. */
  askedBy(sessionId: string, run: string): Set<string> | null
  forget(sessionId: string): void
}

export function sessionMemory(): SessionMemory {
  const runs = new Map<string, { readonly run: string; readonly asked: Set<string> }>()
  let current = Number.NEGATIVE_INFINITY
  return {
    beginTerm(epoch) {
      if (epoch === current) return
      current = epoch
      runs.clear()
    },
    announced: (sessionId, run) => void runs.set(sessionId, { run, asked: new Set() }),
    askedBy(sessionId, run) {
      const last = runs.get(sessionId)
      return last?.run === run ? last.asked : null
    },
    forget: sessionId => void runs.delete(sessionId),
  }
}
