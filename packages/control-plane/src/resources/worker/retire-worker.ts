import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { isDisposable } from '@lcm/domain/plan/is-disposable'
import { POLICY } from '@lcm/domain/worker/lifecycle'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { listAll } from '../list-documents.ts'
import { raiseDocumentFence } from '../service/term-fencing.ts'
import { currentSettings } from '../settings/queries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { desiredState, withDesiredStatus } from './set-desired-status.ts'

type RetireRequest = WorkerRequest<BodyOf<'retireWorker'>>

/** A policy may terminate what a policy bought and stopped, as long as nothing holds it. */
export async function retireWorker(api: Api, request: RetireRequest): Promise<Worker> {
  const { terminate_sleeping } = await currentSettings(api)
  const labs = await listAll(api.labs, { where: { worker_id: request.params.id } })
  const hasLabs = labs.some(({ status }) => status !== 'DELETED')
  return changeWorker(api, { ...request, ifMatch: null }, (worker, now) => {
    if (worker.desired_status === 'TERMINATED') return null
    if (!terminate_sleeping || hasLabs || !isDisposable(worker))
      throw new ProblemError(
        'worker_held',
        `${worker.name} ${hasLabs ? 'has labs' : 'must not be terminated by a policy'}`,
      )
    const reason = request.body.reason.message
    const retired = withDesiredStatus(worker, 'TERMINATED', { by: POLICY.calendar, reason, until: null, now })
    const more = { before: desiredState(worker), after: desiredState(retired), reason }
    return {
      worker: { ...retired, fence: raiseDocumentFence(worker, request) },
      entries: [auditEntry({ ...request.actor, name: POLICY.calendar }, 'terminate', now, more)],
    }
  })
}
