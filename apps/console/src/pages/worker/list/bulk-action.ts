import type { Worker } from '@lcm/domain/worker/worker'
import { availableActions, type WorkerAction } from '../actions/worker-actions.ts'

export const BULK_ACTIONS = ['start', 'stop', 'drain', 'terminate'] as const satisfies readonly WorkerAction[]
export type BulkAction = (typeof BULK_ACTIONS)[number]

export interface BulkPlan {
  readonly targets: readonly Worker[]
  /** Workers that the action doesn't apply to, with the reason. */
  readonly skipped: readonly { readonly worker: Worker; readonly because: string }[]
}

export function bulkPlan(workers: readonly Worker[], action: BulkAction): BulkPlan {
  const judged = workers.map(worker => ({ worker, because: skipReason(worker, action) }))
  return {
    targets: judged.flatMap(({ worker, because }) => (because === null ? [worker] : [])),
    skipped: judged.flatMap(({ worker, because }) => (because === null ? [] : [{ worker, because }])),
  }
}

function skipReason(worker: Worker, action: BulkAction): string | null {
  const item = availableActions(worker).find(each => each.action === action)
  if (item !== undefined) return item.disabledReason
  if (worker.status === 'TERMINATED') return 'Already terminated'
  if (worker.desired_status === 'TERMINATED') return 'Termination is in progress'
  if (action === 'start') return worker.drain === null ? 'Already started' : 'Draining: cancel the drain instead'
  if (action === 'stop') return 'Already stopped'
  return worker.drain === null
    ? `Only RUNNING workers can be drained, and this one is ${worker.status}`
    : 'Already draining'
}

export type BulkOutcome = 'accepted' | { readonly refused: string }

/** Parallel requests: enough to be fast, few enough to leave capacity for other users. */
const AT_ONCE = 6

/** Sends the requests, a few at a time, and reports each outcome. A refusal doesn't stop the others. */
export async function runBulk(
  workers: readonly Worker[],
  ask: (worker: Worker) => Promise<BulkOutcome>,
  report: (worker: Worker, outcome: BulkOutcome) => void,
): Promise<void> {
  const waiting = [...workers]
  const lane = async () => {
    for (let worker = waiting.shift(); worker !== undefined; worker = waiting.shift()) report(worker, await ask(worker))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}
