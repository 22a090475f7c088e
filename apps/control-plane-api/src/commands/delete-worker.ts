import { ProblemError } from '@lcm/contract/problems'
import type { Api, Request } from '../api.ts'
import { findWorker } from '../queries/workers.ts'
import { refuseStale } from './change.ts'

/** Removes a record, never a machine: as long as there may be one, its record stays. */
export async function deleteWorker(api: Api, request: Request<{ id: string }, undefined, undefined>): Promise<null> {
  const worker = await findWorker(api, request.params.id)
  refuseStale(worker, request.ifMatch)
  if (worker.status !== 'TERMINATED') {
    throw new ProblemError('worker_not_terminated', `${worker.name} is ${worker.status}; terminate it first`)
  }
  const result = await api.workers.remove(worker)
  if (!result.ok) throw new ProblemError('version_mismatch', `${worker.name} was changed meanwhile: read it again`)
  return null
}
