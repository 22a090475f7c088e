import { type PlanBoard, planBoard } from '../kit/decision-log.ts'

/** State of one leadership term. A new leader repeats at most one request per step. */
export interface LabletMemory {
  readonly plan: PlanBoard
  readonly steps: StepMemory
  readonly unseenLabs: UnseenLabs
}

export const labletMemory = (): LabletMemory => ({
  plan: planBoard(),
  steps: stepMemory(),
  unseenLabs: unseenLabs(),
})

/** Labs of sessions that CML did not show, although it serves. */
export interface UnseenLabs {
  /** How long it was the same: no answer, or (`isGone`) a list without the lab. 0 at first. */
  missed(sessionId: string, seen: { readonly isGone: boolean; readonly nowMs: number }): number
  forget(sessionId: string): void
}

function unseenLabs(): UnseenLabs {
  const first = new Map<string, { readonly isGone: boolean; readonly atMs: number }>()
  return {
    missed(sessionId, { isGone, nowMs }) {
      const before = first.get(sessionId)
      if (before !== undefined && before.isGone === isGone) return nowMs - before.atMs
      first.set(sessionId, { isGone, atMs: nowMs })
      return 0
    },
    forget: sessionId => void first.delete(sessionId),
  }
}

/** The runs of steps that this term announced, with the requests that each has sent to CML. */
export interface StepMemory {
  announced(sessionId: string, run: string): void
  /** Requests of this run; null when this term did not announce it. */
  requestsOf(sessionId: string, run: string): Set<string> | null
  forget(sessionId: string): void
}

function stepMemory(): StepMemory {
  const runs = new Map<string, { readonly run: string; readonly requests: Set<string> }>()
  return {
    announced: (sessionId, run) => void runs.set(sessionId, { run, requests: new Set() }),
    requestsOf(sessionId, run) {
      const last = runs.get(sessionId)
      return last?.run === run ? last.requests : null
    },
    forget: sessionId => void runs.delete(sessionId),
  }
}
