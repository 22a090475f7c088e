import type { Worker } from '@lcm/domain/worker/worker'
import { offersOf, type WorkerAct } from '../actions/worker-actions.ts'

export const BULK_ACTS = ['start', 'stop', 'drain', 'terminate'] as const satisfies readonly WorkerAct[]
export type BulkAct = (typeof BULK_ACTS)[number]

export interface BulkPlan {
  readonly asked: readonly Worker[]
  /** Those that it makes no sense for, and why. */
  readonly leftOut: readonly { readonly worker: Worker; readonly because: string }[]
}

export function bulkPlan(workers: readonly Worker[], act: BulkAct): BulkPlan {
  const judged = workers.map(worker => ({ worker, because: barOf(worker, act) }))
  return {
    asked: judged.flatMap(({ worker, because }) => (because === null ? [worker] : [])),
    leftOut: judged.flatMap(({ worker, because }) => (because === null ? [] : [{ worker, because }])),
  }
}

function barOf(worker: Worker, act: BulkAct): string | null {
  const offer = offersOf(worker).find(each => each.act === act)
  if (offer !== undefined) return offer.bar
  if (worker.status === 'TERMINATED') return 'It is gone'
  if (worker.desired_status === 'TERMINATED') return 'It is on its way out'
  if (act === 'start') return worker.drain === null ? 'It is wanted running already' : 'It is draining: cancel that'
  if (act === 'stop') return 'It is wanted stopped already'
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
