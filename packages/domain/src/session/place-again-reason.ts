import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { statusReason, workerLost } from './decide-session.ts'

/**
 * Why a session that is placed on this worker, and has no lab there yet, must be placed again; null if it can stay. A worker that
 * is requested to stop or to terminate is not waited for. A draining worker waits for the sessions that are placed on it.
 */
export function placeAgainReason(worker: Worker | null, nowMs: number): Reason | null {
  if (worker === null || worker.status === 'TERMINATED') return workerLost(worker, nowMs)
  if (worker.status === 'TERMINATING') return statusReason(worker)
  if (worker.drain === null && worker.desired_status !== 'RUNNING')
    return reason('worker_desired_status', { worker: worker.name, desired_status: worker.desired_status })
  return workerLost(worker, nowMs)
}
