import { type Instant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { BootCondition } from './boot-stages.ts'
import { CONDITION, type Worker } from './worker.ts'

const MINUTE_MS = 60_000
/** A worker that is unavailable for longer than this counts as lost for what does not run on it. */
export const WORKER_LOST_MS = 10 * MINUTE_MS
/** A session that should begin and has no lab yet is placed elsewhere after this long. */
export const DUE_WORKER_LOST_MS = 2 * MINUTE_MS

/** Why a worker counts as lost; null while it does not. A lab that runs is never given up for this. */
export function workerLost(worker: Worker | null, nowMs: number, afterMs = WORKER_LOST_MS): Reason | null {
  if (worker === null) return reason('worker_deleted')
  if (worker.status === 'TERMINATED') return statusReason(worker)
  const since = awaySince(worker)
  if (since === null || nowMs - toMs(since) < afterMs) return null
  return reason('worker_lost', { worker: worker.name, status: worker.status, seconds: afterMs / 1000 })
}

export const statusReason = ({ name, status }: Worker): Reason => reason('worker_status', { worker: name, status })

function awaySince(worker: Worker): Instant | null {
  switch (worker.status) {
    case 'STOPPED':
    case 'FAILED':
    case 'UNKNOWN':
      return worker.entered_status_at
    case 'RUNNING':
    case 'DRAINING':
    case 'TERMINATING':
      return worker.service_status === 'AVAILABLE' ? null : silentSince(worker)
    case 'STARTING':
      return blockedSinceOf(worker)
    default:
      return null
  }
}

/** Since when EC2 has no capacity for the worker, or something is missing for its launch; null if it is not blocked. */
export const blockedSinceOf = ({ conditions }: Worker): Instant | null =>
  conditions.find(({ type, status }) => type === CONDITION.blocked && status)?.since ?? null

const silentSince = ({ conditions }: Worker): Instant | null =>
  conditions.find(({ type, status }) => type === CML_READY && !status)?.since ?? null
const CML_READY: BootCondition = 'CmlReady'
