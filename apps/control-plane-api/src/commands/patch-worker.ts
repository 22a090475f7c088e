import type { BodyOf } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../api.ts'
import { changeDocument } from './change.ts'

/** What people may say of a worker besides what they want of it. What is left out stays as it is. */
export function patchWorker(
  api: Api,
  request: Request<{ id: string }, undefined, BodyOf<'patchWorker'>>,
): Promise<Worker> {
  const target = { collection: api.workers, id: request.params.id, noun: 'worker' }
  return changeDocument(target, api.clock, request.ifMatch, worker => {
    const changed = { ...worker, ...request.body }
    return changed.name === worker.name && changed.protected === worker.protected ? worker : changed
  })
}
