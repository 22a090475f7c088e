import type { DecisionRecord } from '@lcm/domain/decision'
import { signal } from '@preact/signals'

/** Decisions since the page was opened, newest first. Older ones are in the journal. */
export interface RecentDecisions {
  /** Reading it in a component or effect subscribes to changes. */
  all(): readonly DecisionRecord[]
  add(decision: DecisionRecord): void
}

const KEPT_MAX = 200

export function recentDecisions(): RecentDecisions {
  const kept = signal<readonly DecisionRecord[]>([])
  return {
    all: () => kept.value,
    add(decision) {
      if (kept.peek().some(({ id }) => id === decision.id)) return
      kept.value = [decision, ...kept.peek()].slice(0, KEPT_MAX)
    },
  }
}
