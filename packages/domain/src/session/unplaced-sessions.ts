import type { Worker } from '../worker/worker.ts'
import { workerLost } from './decide-session.ts'

/**
 * Why a session that has a place on this worker, and no lab there yet, had better be placed anew; null where its place is good.
 * Nobody waits for the end of a worker that was told to go. One that drains was told to wait for those who have a place.
 */
export function placeGivenUp(worker: Worker | null, nowMs: number): string | null {
  if (worker === null || worker.status === 'TERMINATED') return workerLost(worker, nowMs)
  if (worker.status === 'TERMINATING') return `${worker.name} is TERMINATING`
  if (worker.drain === null && worker.desired_status !== 'RUNNING')
    return `${worker.name} is wanted ${worker.desired_status}`
  return workerLost(worker, nowMs)
}
