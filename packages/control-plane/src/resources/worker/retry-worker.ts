import { ProblemError } from '@lcm/contract/problems'
import type { BodyOf } from '@lcm/contract/routes'
import { reason } from '@lcm/domain/reason'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Api } from '../../api-context.ts'
import { auditEntry } from '../journal/entries.ts'
import { changeWorker, type WorkerRequest } from './change-worker.ts'
import { desiredState, refuseTerminating, withDesiredStatus } from './set-desired-status.ts'

/** Retries with the existing machine, else with a new launch. */
export const retryWorker = (api: Api, request: WorkerRequest<BodyOf<'retryWorker'>>): Promise<Worker> =>
  changeWorker(api, request, (worker, now) => {
    if (worker.status !== 'FAILED')
      throw new ProblemError('worker_not_failed', `${worker.name} is ${worker.status}; there is nothing to retry`)
    refuseTerminating(worker)
    const status = worker.ec2_instance_id === null ? 'PENDING' : 'STARTING'
    const { name: by } = request.actor
    const { reason: why = '' } = request.body
    const wanted =
      worker.desired_status === 'RUNNING'
        ? worker
        : withDesiredStatus(worker, 'RUNNING', { by, reason: why, until: null, now })
    const entries = [
      auditEntry(request.actor, 'retry', now, {
        before: desiredState(worker),
        after: desiredState(wanted),
        reason: why,
      }),
    ]
    return {
      worker: { ...wanted, status, service_status: 'UNAVAILABLE', failures: 0 },
      entries,
      because: reason('retry_requested_by', { by }),
    }
  })
