import { toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { blockedSinceOf, WORKER_LOST_MS, workerLost } from '../worker/worker-loss.ts'
import { isRead } from './placement.ts'

/** Starts and stops that take longer than this wait for something else, such as EC2 capacity. */
const POWER_MS_MAX = 30 * 60_000

/**
 * Whether a worker is requested to run and not fully available yet. A worker that is lost or does not start is not waited for: a
 * new one may start. A worker without its license or node definitions counts: a new one would wait for them too.
 */
export function isArriving(worker: Worker, nowMs: number): boolean {
  if (worker.desired_status !== 'RUNNING') return false
  const forMs = nowMs - toMs(worker.entered_status_at)
  switch (worker.status) {
    case 'RUNNING':
      return worker.service_status === 'AVAILABLE'
        ? isUnlicensed(worker) || (!isRead(worker) && isLicensed(worker))
        : workerLost(worker, nowMs) === null
    case 'PENDING':
    case 'PROVISIONING':
      return true
    case 'STARTING':
    case 'STOPPING':
      return forMs < POWER_MS_MAX && workerLost(worker, nowMs) === null
    case 'STOPPED':
      return Math.min(forMs, nowMs - resumedMs(worker)) < WORKER_LOST_MS
    case 'UNKNOWN':
      return forMs < WORKER_LOST_MS
    default:
      return false
  }
}

/** A worker is stuck if EC2 has no capacity for it, or its license was refused and is not retried. */
export function isStuck(worker: Worker, nowMs: number): boolean {
  const { status, pending_operation } = worker.license
  const blockedSince = blockedSinceOf(worker)
  const isBlocked = blockedSince !== null && nowMs - toMs(blockedSince) >= WORKER_LOST_MS
  return isBlocked || (worker.status === 'RUNNING' && status === 'FAILED' && pending_operation === null)
}

/** When the worker was last requested to run. */
const resumedMs = ({ pause, created_at }: Worker): number => toMs(pause.last_resumed_at ?? created_at)

const isUnlicensed = ({ license }: Worker): boolean =>
  license.product !== null && license.status !== 'REGISTERED' && license.pending_operation !== 'deregister'

/** Whether the worker has its license, if it should have one. */
const isLicensed = ({ license }: Worker): boolean => license.product === null || license.status === 'REGISTERED'

/** The reason to wait for an arriving worker. */
export function arrivalOf(worker: Worker): Reason {
  const { name, status, service_status, license } = worker
  if (status !== 'RUNNING' || service_status !== 'AVAILABLE') return reason('waiting_for_worker', { worker: name })
  return isUnlicensed(worker)
    ? reason('waiting_for_license', { worker: name, license_status: license.status })
    : reason('waiting_for_node_definitions', { worker: name })
}

/**
 * Stopped by a policy, or by a user until a time that has passed. Any other stop by a user holds until a user starts it. One that
 * still runs is about to stop.
 */
export const isResumable = ({ status, desired_status, desired_until, pause }: Worker, nowMs: number): boolean =>
  (status === 'STOPPED' || status === 'STOPPING' || status === 'RUNNING') &&
  desired_status === 'STOPPED' &&
  (pause.reason !== null || (desired_until !== null && toMs(desired_until) <= nowMs))
