import { labStartBlock } from '../calendar/lab-start-block.ts'
import { type Instant, toMs } from '../instant.ts'
import { type Reason, reason } from '../reason.ts'
import type { Worker } from '../worker/worker.ts'
import { DUE_WORKER_LOST_MS, statusReason, WORKER_LOST_MS, workerLost } from '../worker/worker-loss.ts'
import { mayRun } from './decide-session.ts'
import { STOPPED_CODES } from './lab-stop-cause.ts'
import { isUp, LAB_STOPPED, type LabletSession } from './lablet-session.ts'

/** A session that is not in use and starts within this time, or has started, does not wait long for its worker. */
const DUE_MS = WORKER_LOST_MS

/** Why a session leaves its worker, as the scheduler decides it. */
export interface Departure {
  readonly because: Reason
  /** Whether it leaves only for a worker that has capacity right now, because its own may still come back. */
  readonly needsCapacity: boolean
}

/**
 * Why a session that is placed on this worker must leave it, or may; null if it stays. A session in use stays while its machine may
 * run: a silent CML, or a machine that nothing is known of, may still serve its lab.
 */
export function departureOf(session: LabletSession, worker: Worker | null, nowMs: number): Departure | null {
  const { status, desired_status, timeslot } = session
  if (desired_status !== 'RUNNING') return null
  const isDue = toMs(timeslot.start) - nowMs <= DUE_MS
  const unlessInUse = () => placeAgainReason(worker, nowMs, isDue ? DUE_WORKER_LOST_MS : WORKER_LOST_MS)
  if (status === 'SCHEDULED') return departure(unlessInUse() ?? blockedTooLong(session, worker, nowMs), false)
  if (!isUp(status) || toMs(timeslot.end) <= nowMs) return null
  if (worker === null || worker.status === 'TERMINATED') return departure(workerLost(worker, nowMs), false)
  const stopped = stoppedForGood(session, worker)
  if (stopped !== null) return departure(stopped, false)
  const isInUse = status === 'RUNNING' || toMs(timeslot.start) <= nowMs
  if (isInUse && mayRun(worker)) return null
  const lost = isInUse ? workerLost(worker, nowMs) : unlessInUse()
  return departure(lost ?? keepsFailing(worker, nowMs), true)
}

/** Its capacity should be free for some time, and labs of earlier sessions still run there. */
function blockedTooLong({ id }: LabletSession, worker: Worker | null, nowMs: number): Reason | null {
  const from = worker?.reservations[id]?.from
  if (worker === null || from === undefined || nowMs - toMs(from) < DUE_WORKER_LOST_MS) return null
  return labStartBlock(worker, id)
}

/** LCM stops the labs on a worker before it terminates it, and no lab is started there again. */
const stoppedForGood = ({ conditions }: LabletSession, { status }: Worker): Reason | null =>
  status !== 'TERMINATING'
    ? null
    : (conditions.find(each => each.type === LAB_STOPPED && each.status && each.reason.code === STOPPED_CODES.leaving)
        ?.reason ?? null)

/** Each retry begins a new status, but not a new wait. */
function keepsFailing(worker: Worker, nowMs: number): Reason | null {
  const since = worker.status === 'FAILED' || worker.status === 'STARTING' ? failedSince(worker) : null
  if (since === null || nowMs - toMs(since) < WORKER_LOST_MS) return null
  return reason('worker_keeps_failing', { worker: worker.name, since })
}

/** When the worker failed first since it last ran; null if it did not. */
function failedSince({ state_history }: Worker): Instant | null {
  const lastRan = state_history.findLastIndex(({ to }) => to === 'RUNNING')
  return state_history.slice(lastRan + 1).find(({ to }) => to === 'FAILED')?.at ?? null
}

const departure = (because: Reason | null, needsCapacity: boolean): Departure | null =>
  because === null ? null : { because, needsCapacity }

/**
 * Why a session that is placed on this worker, and has no lab there yet, must be placed again; null if it can stay. A worker that
 * is requested to stop or to terminate is not waited for. A draining worker waits for the sessions that are placed on it.
 */
export function placeAgainReason(worker: Worker | null, nowMs: number, afterMs = WORKER_LOST_MS): Reason | null {
  if (worker === null || worker.status === 'TERMINATED') return workerLost(worker, nowMs)
  if (worker.status === 'TERMINATING') return statusReason(worker)
  if (worker.drain === null && worker.desired_status !== 'RUNNING')
    return reason('worker_desired_status', { worker: worker.name, desired_status: worker.desired_status })
  return workerLost(worker, nowMs, afterMs)
}
