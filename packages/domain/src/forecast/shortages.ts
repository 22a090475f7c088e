import type { UnplacedSession } from '../plan/plan.ts'
import type { Reason } from '../reason.ts'
import type { BookedSpan, MachineUse } from './machine-use.ts'

/** Sessions that would wait at the same time for the same reason. */
export interface Shortage {
  readonly fromMs: number
  readonly untilMs: number
  readonly session_ids: readonly string[]
  readonly because: Reason
  /** How many workers there would have to be by then, if nothing limited purchases; null if more would not help. */
  readonly workers_needed: number | null
}

interface Open {
  readonly because: Reason
  readonly spans: BookedSpan[]
  untilMs: number
}

/** Sessions without a machine, joined while their times overlap and their reasons have the same code. Earliest first. */
export function shortagesOf(
  unplaced: readonly UnplacedSession[],
  spans: ReadonlyMap<string, BookedSpan>,
  unlimited: readonly MachineUse[],
): Shortage[] {
  const found: Open[] = []
  const waiting = unplaced
    .flatMap(({ session_id, because }) => {
      const span = spans.get(session_id)
      return span === undefined ? [] : [{ span, because }]
    })
    .sort((a, b) => a.span.fromMs - b.span.fromMs)
  const openByCode = new Map<string, Open>()
  for (const { span, because } of waiting) {
    const open = openByCode.get(because.code)
    if (open !== undefined && span.fromMs < open.untilMs) {
      open.spans.push(span)
      open.untilMs = Math.max(open.untilMs, span.untilMs)
    } else {
      const next = { because, spans: [span], untilMs: span.untilMs }
      openByCode.set(because.code, next)
      found.push(next)
    }
  }
  return found.map(({ because, spans: held, untilMs }) => ({
    fromMs: held[0]?.fromMs ?? 0,
    untilMs,
    session_ids: held.map(({ session_id }) => session_id),
    because,
    workers_needed: workersFor(held, unlimited),
  }))
}

/** The workers that exist without limits once all of these sessions have a machine. */
function workersFor(held: readonly BookedSpan[], unlimited: readonly MachineUse[]): number | null {
  const ids = new Set(held.map(({ session_id }) => session_id))
  const used = unlimited.filter(({ sessions }) => sessions.some(({ session_id }) => ids.has(session_id)))
  if (used.length === 0) return null
  const lastMs = Math.max(...held.map(({ fromMs }) => fromMs))
  return unlimited.filter(({ exists }) => exists.fromMs <= lastMs && exists.untilMs > lastMs).length
}
