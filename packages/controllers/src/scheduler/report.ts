import { ApiError, type Client, isProblem } from '@lcm/client/client'
import type { DecisionNote } from '@lcm/domain/journal-records'
import { type Reason, textReason } from '@lcm/domain/reason'
import type { Election, Meter, ReconcileContext } from '@lcm/runtime'
import { type DecisionLog, OUTCOME_CHARS_MAX } from '../kit/decision-log.ts'
import { fencedWrite } from '../kit/fenced-write.ts'
import { type Counters, counters } from '../kit/metrics.ts'

const COUNTERS = {
  cycles: 'scheduling cycles that completed',
  assigned: 'sessions that were placed on a worker',
  lost_races: 'placements refused because the capacity was taken meanwhile',
  reasons_written: 'waiting reasons that were written',
  expired: 'sessions whose timeslot ended before they were placed',
  returned: 'sessions that were unassigned from a lost worker',
  moved: 'sessions with a lab that were moved away from their worker',
  plans_stored: 'plans that were stored because they changed',
  resumed: 'workers that were started for sessions',
  retired: 'stopped workers that were terminated because the plan does not need them',
  scale_up_requested: 'scale-up requests that were granted',
  scale_up_refused: 'scale-up requests that were refused',
  workers_removed: 'worker records that a cleanup removed',
} as const

export type SchedulerCounters = Counters<keyof typeof COUNTERS>

export const schedulerCounters = (meter: Meter): SchedulerCounters => counters(meter, 'resource_scheduler', COUNTERS)

export interface ReportParts {
  readonly client: Client
  readonly election: Election
  readonly decisions: DecisionLog
  readonly counters: SchedulerCounters
}

/** Writes of one cycle. */
export interface CycleReport extends Pick<ReconcileContext, 'signal' | 'epoch' | 'logger'> {
  /** Writes that the API refused unexpectedly. */
  failures(): number
  /** A decision with its inputs, for the journal. */
  note(decision: { action: string; because: Reason; outcome?: string; seen?: DecisionNote['seen'] }): DecisionNote
  /**
   * Sends one fenced write. Null when it failed for a reason that concerns only this write: the others go on, and the cycle
   * is repeated. Throws, and so ends the cycle, when the API is down or knows a newer leader.
   */
  write<T>(send: (call: FencedCall) => Promise<T>, expected?: readonly string[]): Promise<Written<T> | null>
}

export interface FencedCall {
  readonly epoch: number
  readonly signal: AbortSignal
}

export type Written<T> =
  | { readonly kind: 'taken'; readonly answer: T }
  | { readonly kind: 'refused'; readonly code: string; readonly because: Reason }

export function cycleReport(
  { election }: Pick<ReportParts, 'election'>,
  context: ReconcileContext,
  durationMs: () => number,
): CycleReport {
  const { signal, epoch, leadership, cause, logger } = context
  let failures = 0
  return {
    signal,
    epoch,
    logger,
    failures: () => failures,
    note: ({ action, because, outcome = '', seen = {} }) => ({
      action,
      because,
      cause: cause.slice(0, 200),
      seen,
      guards: [],
      outcome: outcome.slice(0, OUTCOME_CHARS_MAX),
      duration_ms: durationMs(),
    }),
    async write(send, expected = []) {
      signal.throwIfAborted()
      if (!leadership.isHeld()) throw new Error('this instance leads no longer')
      try {
        return { kind: 'taken', answer: await fencedWrite(election, () => send({ epoch, signal }), []) }
      } catch (error) {
        if (isProblem(error, ...expected)) {
          const { code, reason: because = textReason(error.message) } = error.problem
          return { kind: 'refused', code, because }
        }
        if (!isAboutThisOne(error)) throw error
        failures += 1
        logger.warn({ err: error }, 'write refused')
        return null
      }
    },
  }
}

/** Problems that the next write would meet as well. */
const ABOUT_US: readonly string[] = [
  'stale_leader',
  'term_not_registered',
  'unauthenticated',
  'forbidden',
  'rate_limited',
]

const isAboutThisOne = (error: unknown): boolean =>
  error instanceof ApiError && !ABOUT_US.includes(error.problem.code) && error.problem.status <= 500

/** A session that was changed or removed meanwhile is observed again in the next cycle. */
export const MOVED_ON = ['version_mismatch', 'illegal_transition', 'not_found'] as const
