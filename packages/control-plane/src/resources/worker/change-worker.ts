import type { Instant } from '@lcm/domain/instant'
import { concernsPool } from '@lcm/domain/license/seat-decisions'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { assignSeats } from '../license/assign-seats.ts'
import { commitWorker, type WorkerChange, type WorkerWriter } from './commit-worker.ts'

export type { WorkerChange, WorkerRequest, WorkerWriter } from './commit-worker.ts'

/**
 * Changes a worker. The seats of its license pool follow after the commit; housekeeping repeats what a crash leaves.
 */
export async function changeWorker(
  api: Api,
  request: WorkerWriter,
  change: (worker: Worker, now: Instant) => WorkerChange | null,
): Promise<Worker> {
  let before: Worker | null = null
  const written = await commitWorker(api, request, (worker, now) => {
    before = worker
    return change(worker, now)
  })
  const isConcerned = before !== null && concernsPool(before, written)
  if (!isConcerned || !(await assignSeats(api, written.license.product))) return written
  return (await api.workers.get(written.id)) ?? written
}
