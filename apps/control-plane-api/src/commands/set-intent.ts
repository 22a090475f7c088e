import { ProblemError } from '@lcm/contract/problems'
import type { DesiredStatus, Worker } from '@lcm/domain/worker/worker'
import type { Api, Request } from '../api.ts'
import { changeDocument } from './change.ts'

type IntentRequest = Request<{ id: string }, undefined, { reason?: string | undefined }>

/** People change what is wanted, never what is. Asking again for what is already wanted changes nothing. */
export function setIntent(api: Api, request: IntentRequest, desired: DesiredStatus): Promise<Worker> {
  const target = { collection: api.workers, id: request.params.id, noun: 'worker' }
  return changeDocument(target, api.clock, request.ifMatch, worker => {
    refuseIntent(worker, desired)
    if (worker.desired_status === desired) return worker
    return {
      ...worker,
      desired_status: desired,
      desired_by: request.actor.name,
      desired_reason: request.body.reason ?? '',
    }
  })
}

function refuseIntent(worker: Worker, desired: DesiredStatus): void {
  if (desired === 'TERMINATED') {
    if (worker.protected)
      throw new ProblemError(
        'worker_protected',
        `${worker.name} is protected; PATCH it with {"protected": false} first`,
      )
    return
  }
  if (worker.desired_status === 'TERMINATED' || worker.status === 'TERMINATED') {
    const state = worker.status === 'TERMINATED' ? 'is terminated' : 'is being terminated'
    throw new ProblemError(
      'worker_terminating',
      `${worker.name} ${state}, which can not be undone; create a new worker`,
    )
  }
}
