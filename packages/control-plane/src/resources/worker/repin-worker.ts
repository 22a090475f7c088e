import type { BodyOf } from '@lcm/contract/routes'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { refuseTerminating } from './set-desired-status.ts'

/** Pins the next certificate of the server: for a CML that was reinstalled. */
export const repinWorker = (api: Api, request: WorkerRequest<BodyOf<'repinWorker'>>): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    refuseTerminating(worker)
    if (worker.cml.certificate_sha256 === null) return null
    const changed = { ...worker, cml: { ...worker.cml, certificate_sha256: null } }
    const more = { before: worker.cml, after: changed.cml, reason: request.body.reason }
    return { worker: changed, entries: [auditEntry(request.actor, 'repin', now, more)] }
  })
