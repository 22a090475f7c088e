import type { Worker } from '@lcm/domain/worker/worker'
import { availableActions, type WorkerAction } from '../actions/worker-actions.ts'

export const BULK_ACTIONS = ['start', 'stop', 'drain', 'terminate'] as const satisfies readonly WorkerAction[]
export type BulkAction = (typeof BULK_ACTIONS)[number]

export interface BulkPlan {
  readonly targets: readonly Worker[]
  /** Those that it makes no sense for, and why. */
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
  if (worker.status === 'TERMINATED') return 'It is gone'
  if (worker.desired_status === 'TERMINATED') return 'It is on its way out'
  if (action === 'start') return worker.drain === null ? 'It is wanted running already' : 'It is draining: cancel that'
  if (action === 'stop') return 'It is wanted stopped already'
  return worker.drain === null ? `Only a RUNNING worker can be drained, and it is ${worker.status}` : 'It is draining'
}

export type BulkOutcome = 'asked' | { readonly refused: string }

/** So many are asked at once: enough to be quick, too few to keep others waiting. */
const AT_ONCE = 6

/** Asks one after another, a few at a time, and tells each outcome as it comes. One refusal stops nobody else. */
export async function runBulk(
  workers: readonly Worker[],
  ask: (worker: Worker) => Promise<BulkOutcome>,
  tell: (worker: Worker, outcome: BulkOutcome) => void,
): Promise<void> {
  const waiting = [...workers]
  const lane = async () => {
    for (let worker = waiting.shift(); worker !== undefined; worker = waiting.shift()) tell(worker, await ask(worker))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}
