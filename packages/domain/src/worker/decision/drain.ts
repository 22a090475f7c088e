import { toMs } from '../../instant.ts'
import { type Reason, reason } from '../../reason.ts'
import type { Seen } from '../observation.ts'
import type { Worker } from '../worker.ts'
import type { Drain } from '../worker-field-schemas.ts'
import { announce, type Decision, type Guard, wait } from './decision.ts'

/** The drain request already keeps new sessions off. Waits until the last session has ended, at most until the deadline. */
export function decideDraining(seen: Seen, drain: Drain): Decision {
  const { worker, policy, nowMs } = seen
  const over = drainIsOver(worker, drain, nowMs)
  const leftMs = toMs(drain.deadline) - nowMs
  const guards: Guard[] = [
    { name: 'sessions', value: sessionsOn(worker), limit: 0, passed: sessionsOn(worker) === 0 },
    { name: 'drain_seconds_left', value: Math.ceil(leftMs / 1000), limit: 0, passed: leftMs <= 0 },
  ]
  if (over === null) {
    const because = reason('drain_waiting', { sessions: sessionsOn(worker), minutes_left: minutes(leftMs) })
    return wait(Math.min(policy.requeueMsMax, Math.max(leftMs, policy.requeueMs)), because, guards)
  }
  const status = endOf(worker, drain) === 'TERMINATED' ? 'TERMINATING' : 'STOPPING'
  return { ...announce({ status }, over), guards }
}

/** The status after a drain. Protection that was set after the request still counts. */
export const endOf = (worker: Worker, { then }: Drain): Drain['then'] => (worker.protected ? 'STOPPED' : then)

const minutes = (ms: number): number => Math.ceil(ms / 60_000)
/** How many sessions still hold a reservation. */
export const sessionsOn = (worker: Worker): number => Object.keys(worker.reservations).length

/** Why a drain is over, or null while it is not. */
export function drainIsOver(worker: Worker, drain: Drain, nowMs: number): Reason | null {
  const end = { by: drain.by, is_protected: endOf(worker, drain) !== drain.then }
  const sessions = sessionsOn(worker)
  if (sessions === 0) return reason('drain_completed', end)
  return nowMs >= toMs(drain.deadline) ? reason('drain_timeout', { sessions, ...end }) : null
}
