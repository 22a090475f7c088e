import type { BodyOf } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'

/** Updates editable fields of a worker. Missing fields stay. */
export function patchWorker(api: Api, request: WorkerRequest<BodyOf<'patchWorker'>>): Promise<Worker> {
  const { license, ...plain } = request.body
  return changeWorker(api, request, (worker, now) => {
    const changed = { ...worker, ...plain, license: { ...worker.license, ...license } }
    if (JSON.stringify(changed) === JSON.stringify(worker)) return null
    return { worker: changed, entries: [auditEntry(request.actor, 'patch', now, { before: worker, after: changed })] }
  })
}
