import { ProblemError } from '@lcm/contract/problems'
import type { Instant } from '@lcm/domain/instant'
import { withSeatAfter } from '@lcm/domain/license/seat-decisions'
import { type Reason, reason } from '@lcm/domain/reason'
import { closeCost } from '@lcm/domain/worker/cost'
import { canMove, failuresAfter, movesFrom } from '@lcm/domain/worker/lifecycle'
import {
  APPLIED_KEYS_MAX,
  CONDITION,
  STATE_HISTORY_MAX,
  type Worker,
  type WorkerStatus,
  withoutCondition,
} from '@lcm/domain/worker/worker'
import { workerHealth } from '@lcm/domain/worker/worker-health'
import type { NewEntry } from '@lcm/store/store'
import type { Api, Request } from '../../api-context.ts'
import { changeDocument, type DocumentChange, refuseStale } from '../change-document.ts'
import { costEntry, healthEntries, transitionEntry } from '../journal/entries.ts'

export type WorkerRequest<B = unknown> = Request<{ id: string }, unknown, B>

/** Parts of a request that a change of a worker needs. */
export type WorkerWriter = Pick<WorkerRequest, 'params' | 'actor' | 'ifMatch' | 'once'>

/** A changed worker with its journal entries. */
export interface WorkerChange {
  readonly worker: Worker
  readonly entries?: readonly NewEntry[]
  /** Reason of a status transition. */
  readonly because?: Reason
}

/**
 * Every change of a worker goes through here: illegal transitions are refused, an applied request is not applied again, and
 * license seat, history, cost and journal follow in the same commit.
 */
export function commitWorker(
  api: Api,
  request: WorkerWriter,
  change: (worker: Worker, now: Instant) => WorkerChange | null,
): Promise<Worker> {
  const target = { collection: api.workers, id: request.params.id, noun: 'worker' }
  return changeDocument(target, api.clock, null, (current, now) => {
    // First, because an applied request has made its own If-Match stale.
    if (request.once !== null && current.applied_keys.includes(request.once.key)) return null
    refuseStale(current, request.ifMatch)
    const changed = change(current, now)
    return changed === null ? null : completed(current, changed, request, now)
  })
}

function completed(before: Worker, changed: WorkerChange, request: WorkerWriter, now: Instant): DocumentChange<Worker> {
  const entries = [...(changed.entries ?? [])]
  let worker = withSeatAfter(changed.worker)
  if (worker.status !== before.status) {
    worker = moved(before, worker, { at: now, because: changed.because ?? reason('not_given') })
    const last = worker.state_history.at(-1)
    if (last) entries.push(transitionEntry(last, request.actor.name))
  }
  if (worker.desired_status !== before.desired_status) worker = { ...worker, desired_at: now }
  const cost = closeCost(before, worker, now)
  if (cost !== null) {
    worker = { ...worker, billing: cost.billing }
    if (cost.interval !== null) entries.push(costEntry(cost.interval))
  }
  if (request.once !== null) {
    worker = { ...worker, applied_keys: [...worker.applied_keys, request.once.key].slice(-APPLIED_KEYS_MAX) }
  }
  const health = { before: workerHealth(before), after: workerHealth(worker) }
  const { status } = worker
  return {
    document: worker,
    entries: [...entries, ...healthEntries({ ...health, status, isOver: status === 'TERMINATED' }, now)],
  }
}

/** Conditions that end with their status; a retry after a failure starts without them. */
const ENDS_WITH: Partial<Record<WorkerStatus, readonly string[]>> = {
  FAILED: [
    CONDITION.failed,
    CONDITION.stoppedAfterFailure,
    CONDITION.overdue,
    CONDITION.blocked,
    CONDITION.stopBlocked,
  ],
  STOPPING: [CONDITION.stopBlocked],
  TERMINATING: [CONDITION.terminateBlocked],
}

function moved(before: Worker, worker: Worker, note: { at: Instant; because: Reason }): Worker {
  const { status: from } = before
  const { status: to } = worker
  if (!canMove(from, to)) {
    const allowed = movesFrom(from).join(', ') || 'nowhere'
    throw new ProblemError('illegal_transition', `${from} cannot become ${to}; from there it goes to ${allowed}`)
  }
  const history = [...before.state_history, { from, to, ...note }].slice(-STATE_HISTORY_MAX)
  const conditions = (ENDS_WITH[from] ?? []).reduce(withoutCondition, worker.conditions)
  // From the change itself: a person's retry resets the count.
  const failures = failuresAfter({ ...before, failures: worker.failures }, to)
  return { ...worker, conditions, failures, entered_status_at: note.at, state_history: history }
}
