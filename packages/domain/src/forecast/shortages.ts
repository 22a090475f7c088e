import type { UnplacedSession } from '../plan/plan.ts'
import type { Reason } from '../reason.ts'
import type { BookedSpan, MachineUse } from './machine-use.ts'

/** Sessions that would wait on one day for the same reason. */
export interface Shortage {
  readonly fromMs: number
  readonly untilMs: number
  readonly session_ids: readonly string[]
  readonly because: Reason
  /** How many workers there would have to be by then, if nothing limited purchases; null if more would not help. */
  readonly workers_needed: number | null
}

const DAY_MS = 86_400_000

/** Sessions without a machine that begin on the same day, in UTC, for reasons with the same code. Earliest first. */
export function shortagesOf(
  unplaced: readonly UnplacedSession[],
  spans: ReadonlyMap<string, BookedSpan>,
  unlimited: readonly MachineUse[],
): Shortage[] {
  const found = new Map<string, { readonly because: Reason; readonly held: BookedSpan[] }>()
  for (const { session_id, because } of unplaced) {
    const span = spans.get(session_id)
    if (span === undefined) continue
    const key = `${Math.floor(span.fromMs / DAY_MS)} ${because.code}`
    const shortage = found.get(key) ?? { because, held: [] }
    found.set(key, shortage)
    shortage.held.push(span)
  }
  return [...found.values()]
    .map(({ because, held }) => ({
      fromMs: Math.min(...held.map(({ fromMs }) => fromMs)),
      untilMs: Math.max(...held.map(({ untilMs }) => untilMs)),
      session_ids: held.map(({ session_id }) => session_id),
      because,
      workers_needed: workersFor(held, unlimited),
    }))
    .sort((a, b) => a.fromMs - b.fromMs)
}

/** The workers that exist without limits once all of these sessions have a machine. */
function workersFor(held: readonly BookedSpan[], unlimited: readonly MachineUse[]): number | null {
  const ids = new Set(held.map(({ session_id }) => session_id))
  const used = unlimited.filter(({ sessions }) => sessions.some(({ session_id }) => ids.has(session_id)))
  if (used.length === 0) return null
  const lastMs = Math.max(...held.map(({ fromMs }) => fromMs))
  return unlimited.filter(({ exists }) => exists.fromMs <= lastMs && exists.untilMs > lastMs).length
}
