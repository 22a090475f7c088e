import { ProblemError } from '@lcm/contract/problems'
import type { AnswerOf, BodyOf } from '@lcm/contract/routes'
import { isQuiet, type LabRecord } from '@lcm/domain/lab/lab-record'
import type { Reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { asSystem, nullOnConflict, SYSTEM_ACTOR } from '../../system-actor.ts'
import { listAll } from '../list-documents.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { changeWorker, type WorkerRequest } from '../worker/change-worker.ts'
import { findWorker } from '../worker/queries.ts'
import { changeLab } from './change-lab.ts'

type StopRequest = WorkerRequest<BodyOf<'stopWorkerLabs'>>

/**
 * CML keeps its license while labs run, so all labs of a machine that goes are stopped, by the lablet-controller. A repeated
 * request finds labs that appeared since.
 */
export async function stopLabsOf(api: Api, request: StopRequest): Promise<AnswerOf<'stopWorkerLabs'>> {
  const worker = await findWorker(api, request.params.id)
  raiseDocumentFence(worker, request)
  refuseUnlessTerminating(worker)
  const labs = await listAll(api.labs, { where: { worker_id: worker.id, is_gone: 'no' } })
  const running = labs.filter(lab => !isQuiet(lab.status))
  for (const lab of running) await nullOnConflict(stopLab(api, lab.id, request.body.reason))
  if (running.length === 0) await requestScan(api, request)
  return { stopping: running.length }
}

function refuseUnlessTerminating({ name, status }: Worker): void {
  if (status !== 'TERMINATING')
    throw new ProblemError('illegal_transition', `${name} is ${status}; labs are stopped so only before a machine goes`)
}

const stopLab = (api: Api, id: string, reason: Reason): Promise<LabRecord> =>
  changeLab(api, asSystem(id), (lab, now) => {
    if (isQuiet(lab.status) || isTakenDown(lab)) return null
    const by = `${SYSTEM_ACTOR.name}: ${reason.message}`
    return { lab: { ...lab, pending_action: { action: 'stop', by, at: now, attempts: 0, error: null } } }
  })

/** Every other pending action stops the lab first. */
const isTakenDown = ({ pending_action }: LabRecord): boolean =>
  pending_action !== null && pending_action.action !== 'start'

/** Labs without a record may run, such as those that people started, so a scan is requested. */
async function requestScan(api: Api, request: StopRequest): Promise<void> {
  await changeWorker(api, { ...request, ifMatch: null, once: null }, (worker, now) => {
    if (worker.status !== 'TERMINATING' || worker.labs_refresh_requested_at !== null) return null
    return { worker: { ...worker, labs_refresh_requested_at: now, fence: raiseDocumentFence(worker, request) } }
  })
}
